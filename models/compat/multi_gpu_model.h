#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/models/training/model.h>

// Keras' multi_gpu_model (2.0.9 to 2.3), and its ancestor make_parallel: a batch is split into parts, a model is
// run on each part on its own device, and the outputs are joined to one batch, with one loss and one
// backward pass. New programs train in the scope of a MirroredStrategy.

namespace lockstep {

/// Which GPUs: all (by default), the first `n`, or those of a list of ids.
class GpuSelection {
 public:
  GpuSelection() = default;
  ///@{
  /// The first `n`, or those with these ids, in their order.
  GpuSelection(int n) : count_(n) {}                                             // NOLINT: .gpus = 2
  GpuSelection(std::initializer_list<int> ids) : ids_(std::vector<int>(ids)) {}  // NOLINT: .gpus = {0, 2}
  GpuSelection(std::vector<int> ids) : ids_(std::move(ids)) {}                   // NOLINT
  ///@}

  /// How many, if a number was given.
  const std::optional<int>& count() const { return count_; }
  /// Which ones, if ids were given.
  const std::optional<std::vector<int>>& ids() const { return ids_; }
  /// True when neither was given.
  bool all() const { return !count_ && !ids_; }

 private:
  std::optional<int> count_;
  std::optional<std::vector<int>> ids_;
};

/// multi_gpu_model's arguments in Keras, and further options.
struct MultiGpuOptions {
  /// The devices of the replicas.
  GpuSelection gpus{};
  bool cpu_merge = true;        ///< joins the outputs on CPU:0; else on the first device
  bool cpu_relocation = false;  ///< move the template's own weights to CPU:0 (Keras made a copy with fresh ones)
  /// Keras' split: B / n rows for each replica, the last one takes the rest. False: sizes differ by at most one.
  bool legacy_split = true;
  /// The replicas' devices by name instead of GPUs, for example logical CPUs on a machine without: {"CPU:0", "CPU:1"}.
  std::vector<std::string> devices{};
};

struct ReplicaGraph;

/// What multi_gpu_model returns: an ordinary model, of the template's layers, each called once for each replica, with
/// the template's inputs, output names and weights. Saving and loading weights goes through the template.
class ParallelModel : public Model {
 public:
  /// The model that was replicated, whose weights these are.
  const Model& template_model() const { return template_; }
  /// In replica order.
  const std::vector<LogicalDevice>& devices() const { return devices_; }

 private:
  friend ParallelModel multi_gpu_model(const Model& model, const MultiGpuOptions& options);
  ParallelModel(const Model& model, const std::vector<LogicalDevice>& devices, const ReplicaGraph& graph);

  Model template_;
  std::vector<LogicalDevice> devices_;
};

/// `model`, the template, replicated over devices; both share the template's weights. Throws InvalidArgument for less
/// than two devices, for devices that this machine does not have, naming those it has, and for `gpus` and `devices`
/// together; LogicError for a template of a strategy, which is parallel already, and in a strategy's scope.
ParallelModel multi_gpu_model(const Model& model, const MultiGpuOptions& options = {});

/// make_parallel of keras-extras, which dropped the rows that a batch of B has beyond a multiple of gpu_count: here the
/// last replica takes them. `devices` as in MultiGpuOptions, gpu_count of them.
ParallelModel make_parallel(const Model& model, int gpu_count, const std::vector<std::string>& devices = {});

}  // namespace lockstep
