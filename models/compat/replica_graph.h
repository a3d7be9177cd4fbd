#pragma once

#include <vector>

#include <lockstep/models/training/model.h>

// The graph that multi_gpu_model makes: slices of the batch, the template on each, and their join.

namespace lockstep {

/// Where the replicas run, and how they share a batch.
struct ReplicaPlan {
  /// One for each replica, in their order.
  std::vector<LogicalDevice> devices;
  /// Where the outputs are joined.
  LogicalDevice merge_device;
  /// B / n rows for each replica but the last, which takes the rest; else sizes that differ by at most one.
  bool legacy_split = true;
};

/// Where the parallel model begins and ends.
struct ReplicaGraph {
  /// Whole batches, in the template's order.
  std::vector<Symbol> inputs;
  /// The same for the replicas' outputs, joined.
  std::vector<Symbol> outputs;
};

/// The template's inputs, its outputs once for each device, and their concatenation along the batch, named as the
/// template's outputs. The template's layers are called once for each replica.
ReplicaGraph replica_graph(const Model& template_model, const ReplicaPlan& plan);

}  // namespace lockstep
