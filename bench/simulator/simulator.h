#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Predicts the time of a data-parallel training step on a machine that is not available, from a step measured on one
/// device and the machine's links. Pure functions over plain structs; times in seconds.
///
/// The batch of each device stays the same (weak scaling). Not modeled: waiting for the slowest device; input and host
/// work, if they grow with the number of devices; other traffic on the network; switch contention when all nodes send
/// at once. A prediction is the time of a step without these effects.
namespace lockstep::simulation {

/// A link between devices or nodes: n bytes take latency_s + n / bytes_per_s, in both directions at once.
struct Link {
  double latency_s = 0;    ///< of one message between processes, end to end
  double bytes_per_s = 0;  ///< in each direction
};

/// Nodes with identical devices. A node may also stand for one process whose replicas sum in shared memory.
struct Machine {
  std::string name;
  std::string source;        ///< origin of the figures
  int devices_per_node = 1;  ///< at least 1
  Link inside;               ///< from each device to others in its node; unused with one device per node
  Link network;              ///< from each node to others; the node's devices share it
  double start_s = 0;        ///< start-up time of any collective
  double message_s = 0;      ///< processor time for each message of AllReduce::exchange
  double slowdown = 0;       ///< fraction of the speed of backward lost during a collective, in [0, 1)
};

/// The backward pass of one layer, or of several layers taken as one.
struct BackwardLayer {
  std::string name;
  double seconds = 0;
  std::int64_t gradient_bytes = 0;  ///< available when the layer's backward ends; 0 for layers without parameters
};

/// A training step on one device.
struct MeasuredStep {
  std::string name;
  std::string source;                   ///< origin of the figures
  double forward_s = 0;                 ///< until the loss is computed
  std::vector<BackwardLayer> backward;  ///< in execution order: the model's last layer comes first
  double update_s = 0;                  ///< optimizer, after the last all-reduce
  double overhead_s = 0;                ///< everything else: input, starting the step
};

/// Algorithm that sums the gradients of all devices.
enum class AllReduce {
  ring,          ///< one ring through all devices
  tree,          ///< NCCL's double binary tree between nodes, chains inside nodes
  hierarchical,  ///< reduce-scatter inside each node, rings between nodes, all-gather inside each node
  exchange,      ///< like hierarchical, but every node sends its parts directly to each other node
};

/// "ring", "tree", "hierarchical" or "exchange".
std::string_view name(AllReduce algorithm);

/// Time of one or more all-reduces.
struct Cost {
  double latency_s = 0;    ///< independent of the number of bytes
  double bandwidth_s = 0;  ///< proportional to the bytes
  double total_s() const { return latency_s + bandwidth_s; }
};

/// Time to sum `bytes` over `devices`; 0 for one device. Formulas and sources: cost.cpp. Throws InvalidArgument for an
/// invalid machine, fewer than one device, negative bytes, and for a number of devices that exceeds one node and is not
/// a multiple of devices_per_node.
Cost all_reduce_cost(AllReduce algorithm, const Machine& machine, int devices, double bytes);

/// Gradients that are reduced together.
struct Bucket {
  std::size_t last_layer = 0;  ///< index in MeasuredStep::backward of the layer whose gradient completes the bucket
  std::int64_t bytes = 0;
};

/// Groups the step's gradients as lockstep's reducer does (<lockstep/strategy/reduce/bucket_plan.h>): a bucket holds
/// whole layers and is closed once it has at least `bucket_bytes`. The limit of the first bucket is the smaller of
/// `bucket_bytes` and the default BucketOptions::first_bytes. Throws InvalidArgument unless `bucket_bytes` is at least
/// 1.
std::vector<Bucket> buckets_of(const MeasuredStep& step, std::int64_t bucket_bytes);

/// A step on several devices.
struct Prediction {
  int devices = 1;
  AllReduce algorithm = AllReduce::ring;
  std::int64_t bucket_bytes = 0;
  std::size_t buckets = 0;  ///< number of all-reduces
  double step_s = 0;        ///< forward + max(end of backward, end of the last all-reduce) + update + overhead
  Cost communication;       ///< of all buckets
  double exposed_s = 0;     ///< time by which communication makes the step longer
  double hidden_share = 1;  ///< share of the communication that is hidden behind backward; 1 without communication
  double efficiency = 1;    ///< step on one device / this step
};

/// forward + backward + update + overhead.
double step_on_one_device_s(const MeasuredStep& step);

/// Predicts the step on `devices`. A bucket's all-reduce begins when its last gradient is available and the previous
/// bucket's all-reduce has ended, as in one communication stream concurrent with backward. Throws InvalidArgument like
/// all_reduce_cost and buckets_of. Also throws it if a time or a number of bytes of the step is negative, or if the
/// step's total time is 0.
Prediction predict(const MeasuredStep& step, const Machine& machine, int devices, AllReduce algorithm,
                   std::int64_t bucket_bytes);

/// Choices that predict_best must not change.
struct Fixed {
  std::optional<AllReduce> algorithm{};        ///< empty: the best of ring, tree and hierarchical
  std::optional<std::int64_t> bucket_bytes{};  ///< empty: the best of bucket_sizes
};

/// Bucket sizes to try: 256 KiB, doubled up to the first size that holds all gradients.
std::vector<std::int64_t> bucket_sizes(const MeasuredStep& step);

/// The prediction with the shortest step. If bucket sizes of one algorithm give equal steps, uses the largest size.
/// Uses `exchange` only if `fixed` names it, because that algorithm needs a network without contention even when many
/// nodes send at once.
Prediction predict_best(const MeasuredStep& step, const Machine& machine, int devices, const Fixed& fixed = {});

/// The larger part of a prediction's communication time.
enum class Bound { latency, bandwidth };

/// "latency" or "bandwidth".
std::string_view name(Bound bound);

/// The point at which scaling breaks down.
struct Break {
  Prediction prediction;  ///< the first one below the threshold
  Bound bound = Bound::bandwidth;
};

/// The first of `predictions` whose efficiency is below `threshold`.
std::optional<Break> where_scaling_breaks(std::span<const Prediction> predictions, double threshold = 0.9);

/// Reads a machine from a JSON file such as those in machines/. Throws InputError naming file and field.
Machine read_machine(const std::filesystem::path& file);
/// Reads a step from a JSON file such as those in steps/. Throws InputError naming file and field.
MeasuredStep read_step(const std::filesystem::path& file);

/// Throws InvalidArgument naming the field if a value is invalid.
void validate(const Machine& machine);
void validate(const MeasuredStep& step);

}  // namespace lockstep::simulation
