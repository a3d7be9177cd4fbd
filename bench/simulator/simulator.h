#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Predicts the time of a data-parallel training step on machines that are not at hand, from a step measured on one
/// device and from the links of the machine. Pure functions over plain structs; times in seconds.
///
/// The batch of each device stays the same (weak scaling). What is not in it: devices of different speed, input, a
/// network that others use too, switches that cannot carry all nodes at once. A prediction is what a run without these
/// could reach.
namespace lockstep::simulation {

/// A way from one device or node to another: n bytes take latency_s + n / bytes_per_s, in each direction at once.
struct Link {
  double latency_s = 0;    ///< of one message between processes, start to end
  double bytes_per_s = 0;  ///< in each direction
};

/// Nodes of equal devices. A node may also be one process whose replicas sum in shared memory.
struct Machine {
  std::string name;
  std::string source;        ///< where the figures come from
  int devices_per_node = 1;  ///< at least 1
  Link inside;               ///< of each device to others of its node; unused with one device per node
  Link network;              ///< of each NODE to others, shared by its devices
  double start_s = 0;        ///< of any collective, whatever its size
  double message_s = 0;      ///< of a processor's time for each message of AllReduce::exchange
  double slowdown = 0;       ///< share of the speed of backward lost while a collective is under way, in [0, 1)
};

/// What one layer, or several as one, does in backward.
struct BackwardLayer {
  std::string name;
  double seconds = 0;
  std::int64_t gradient_bytes = 0;  ///< final when its seconds are over; 0 for layers without parameters
};

/// A training step of one device.
struct MeasuredStep {
  std::string name;
  std::string source;                   ///< where the figures come from
  double forward_s = 0;                 ///< up to the loss
  std::vector<BackwardLayer> backward;  ///< in the order of backward: the last layer of the model is the first here
  double update_s = 0;                  ///< of the optimizer, after the last all-reduce
  double overhead_s = 0;                ///< the rest: input, starting the step
};

/// How the gradients of all devices are summed.
enum class AllReduce {
  ring,          ///< one ring through all devices
  tree,          ///< NCCL's double binary tree of nodes, chains inside these
  hierarchical,  ///< reduce-scatter inside each node, rings between nodes, all-gather inside
  exchange,      ///< as hierarchical, but every node sends each other one its part directly
};

/// "ring", "tree", "hierarchical" or "exchange".
std::string_view name(AllReduce algorithm);

/// Time of one or more all-reduces, by what it depends on.
struct Cost {
  double latency_s = 0;    ///< whatever the number of bytes
  double bandwidth_s = 0;  ///< in proportion to the bytes
  /// Both.
  double total_s() const { return latency_s + bandwidth_s; }
};

/// Time of summing `bytes` over `devices`; 0 for one device. Formulas and their sources: cost.cpp. Throws
/// InvalidArgument for a machine that cannot be, fewer than one device, negative bytes, and a number of devices that is
/// larger than a node and does not fill whole ones.
Cost all_reduce_cost(AllReduce algorithm, const Machine& machine, int devices, double bytes);

/// Gradients that are summed together.
struct Bucket {
  std::size_t last_layer = 0;  ///< index in MeasuredStep::backward of the layer that completes it
  std::int64_t bytes = 0;
};

/// The buckets that lockstep's reducer forms of the step's gradients (<lockstep/strategy/reduce/bucket_plan.h>): closed
/// once `bucket_bytes` are there, the first at its smaller default if that is less; whole layers. Throws
/// InvalidArgument unless `bucket_bytes` is at least 1.
std::vector<Bucket> buckets_of(const MeasuredStep& step, std::int64_t bucket_bytes);

/// A step on several devices.
struct Prediction {
  int devices = 1;
  AllReduce algorithm = AllReduce::ring;
  std::int64_t bucket_bytes = 0;
  std::size_t buckets = 0;  ///< number of all-reduces
  double step_s = 0;        ///< forward + max(end of backward, end of the last all-reduce) + update + overhead
  Cost communication;       ///< of all buckets
  double exposed_s = 0;     ///< by how much communication makes the step longer
  double hidden_share = 1;  ///< share of the communication that does not; 1 where there is none
  double efficiency = 1;    ///< step on one device / this step
};

/// forward + backward + update + overhead.
double step_on_one_device_s(const MeasuredStep& step);

/// The step on `devices`. A bucket's all-reduce begins when its last gradient is final and the bucket before it is
/// done: one stream of communication beside backward. Throws InvalidArgument for what all_reduce_cost and buckets_of
/// refuse and for a step with negative times or bytes or without any time.
Prediction predict(const MeasuredStep& step, const Machine& machine, int devices, AllReduce algorithm,
                   std::int64_t bucket_bytes);

/// What predict_best is not free to choose.
struct Fixed {
  std::optional<AllReduce> algorithm{};        ///< else the best of ring, tree and hierarchical
  std::optional<std::int64_t> bucket_bytes{};  ///< else the best of bucket_sizes
};

/// Bucket sizes worth trying: 256 KiB and doublings up to the first that holds all gradients.
std::vector<std::int64_t> bucket_sizes(const MeasuredStep& step);

/// The shortest step; of equal ones that with the larger buckets. `exchange` is not among what it tries unless fixed:
/// it needs a network without contention, however many nodes send at once.
Prediction predict_best(const MeasuredStep& step, const Machine& machine, int devices, const Fixed& fixed = {});

/// What the communication of a prediction is longest with.
enum class Bound { latency, bandwidth };

/// "latency" or "bandwidth".
std::string_view name(Bound bound);

/// Where scaling ends.
struct Break {
  Prediction prediction;  ///< the first below the threshold
  Bound bound = Bound::bandwidth;
};

/// The first of `predictions` whose efficiency is below `threshold`.
std::optional<Break> where_scaling_breaks(std::span<const Prediction> predictions, double threshold = 0.9);

/// Reads a machine, or a step, from a JSON file as in machines/ and steps/. Throws InputError that names file and
/// field.
Machine read_machine(const std::filesystem::path& file);
/// As read_machine.
MeasuredStep read_step(const std::filesystem::path& file);

/// Throws InvalidArgument that names the field unless all values can be.
void validate(const Machine& machine);
/// As for machines.
void validate(const MeasuredStep& step);

}  // namespace lockstep::simulation
