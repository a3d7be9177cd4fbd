#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/models/training/model.h>

// Keras' multi_gpu_model (2.0.9 to 2.3) and its ancestor make_parallel: the batch is split into parts, the model runs
// on each part on that part's device, and the outputs are concatenated into one batch, with one loss and one backward
// pass. New programs should train in the scope of a MirroredStrategy.

namespace lockstep {

/// Selects GPUs: all (the default), the first `n`, or those with the given ids.
class GpuSelection {
 public:
  GpuSelection() = default;
  ///@{
  /// The first `n` GPUs, or the GPUs with these ids, in this order.
  GpuSelection(int n) : count_(n) {}                                             // NOLINT: .gpus = 2
  GpuSelection(std::initializer_list<int> ids) : ids_(std::vector<int>(ids)) {}  // NOLINT: .gpus = {0, 2}
  GpuSelection(std::vector<int> ids) : ids_(std::move(ids)) {}                   // NOLINT
  ///@}

  /// Number of GPUs, if one was given.
  const std::optional<int>& count() const { return count_; }
  /// Ids of the GPUs, if they were given.
  const std::optional<std::vector<int>>& ids() const { return ids_; }
  /// Whether neither a number nor ids were given.
  bool all() const { return !count_ && !ids_; }

 private:
  std::optional<int> count_;
  std::optional<std::vector<int>> ids_;
};

/// Keras' arguments of multi_gpu_model, and lockstep's options legacy_split and devices.
struct MultiGpuOptions {
  /// The devices of the replicas.
  GpuSelection gpus{};
  bool cpu_merge = true;        ///< concatenates the outputs on CPU:0; otherwise on the first device
  bool cpu_relocation = false;  ///< moves the template's own weights to CPU:0 (Keras makes a copy with new weights)
  /// If true, splits a batch of B rows as Keras does: each of the n replicas gets B / n rows, rounded down, and the
  /// last one also gets the remainder. If false, the replicas' numbers of rows differ by at most one.
  bool legacy_split = true;
  /// The replicas' devices by name (parse_devices), instead of `gpus`, e.g. logical CPUs on a machine without GPUs:
  /// {"CPU:0", "CPU:1"}. A device may be named several times.
  std::vector<std::string> devices{};
};

struct ReplicaGraph;

/// The result of multi_gpu_model: a model that calls the template's layers once for each replica, and has the
/// template's inputs, output names and weights. Weights are saved and loaded as the template's weights.
class ParallelModel : public Model {
 public:
  /// The model that was replicated. Both models have the same weights.
  const Model& template_model() const { return template_; }
  /// The replicas' devices, in replica order.
  const std::vector<LogicalDevice>& devices() const { return devices_; }

 private:
  friend ParallelModel multi_gpu_model(const Model& model, const MultiGpuOptions& options);
  ParallelModel(const Model& model, const std::vector<LogicalDevice>& devices, const ReplicaGraph& graph);

  Model template_;
  std::vector<LogicalDevice> devices_;
};

/// Replicates `model`, the template, over devices; the result shares the template's weights. The first call in a
/// process logs a warning that recommends MirroredStrategy. Throws InvalidArgument for fewer than two devices, for
/// devices that this machine does not have (for `gpus`, the message lists the machine's devices), for names that cannot
/// be parsed, and if both `gpus` and `devices` are given. Throws Unsupported for GPUs that this build cannot use and
/// for stateful layers. Throws LogicError for a template made in the scope of a strategy with several replicas, and if
/// called in a strategy's scope.
ParallelModel multi_gpu_model(const Model& model, const MultiGpuOptions& options = {});

/// make_parallel of keras-extras, except that no rows are dropped: if gpu_count does not divide the number of rows, the
/// last replica also gets the remainder. For `devices` see MultiGpuOptions. Throws the same errors as multi_gpu_model,
/// and InvalidArgument unless `devices` is empty or has gpu_count names.
ParallelModel make_parallel(const Model& model, int gpu_count, const std::vector<std::string>& devices = {});

}  // namespace lockstep
