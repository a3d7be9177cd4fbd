#pragma once

#include <vector>

#include <lockstep/models/training/model.h>

// The graph of multi_gpu_model: slices of the batch, a call of the template on each slice, and the concatenation of the
// calls' outputs.

namespace lockstep {

/// The replicas' devices, and how a batch is split over them.
struct ReplicaPlan {
  /// One device for each replica, in replica order.
  std::vector<LogicalDevice> devices;
  /// The device that concatenates the outputs.
  LogicalDevice merge_device;
  /// See MultiGpuOptions::legacy_split.
  bool legacy_split = true;
};

/// The inputs and outputs of the parallel model.
struct ReplicaGraph {
  /// Whole batches, in the order of the template's inputs.
  std::vector<Symbol> inputs;
  /// The replicas' outputs, concatenated, in the order of the template's outputs.
  std::vector<Symbol> outputs;
};

/// Builds the graph of the parallel model. Its inputs have the shapes of the template's inputs. Each replica gets a
/// slice of every input, taken on the device that holds the batch, and calls the template on its own device. The merge
/// device concatenates the results along the batch axis, under the names of the template's outputs. If an output of the
/// template is one of its inputs, the parallel model's output is the whole batch of that input. Precondition: the plan
/// has devices.
ReplicaGraph replica_graph(const Model& template_model, const ReplicaPlan& plan);

}  // namespace lockstep
