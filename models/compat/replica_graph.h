#pragma once

#include <vector>

#include <lockstep/models/training/model.h>

// The graph that multi_gpu_model makes: slices of the batch, the template on each, and their join.

namespace lockstep {

/// Where the replicas run, and how they share a batch.
struct ReplicaPlan {
  std::vector<LogicalDevice> devices;
  LogicalDevice merge_device;
  /// B / n rows for each replica but the last, which takes the rest; else sizes that differ by at most one.
  bool legacy_split = true;
};

struct ReplicaGraph {
  std::vector<Symbol> inputs;
  Symbol output;
};

/// The template's inputs, its output once for each device, and their concatenation along the batch, named as the
/// template's output. The template is one layer, under its own name, that is called once for each replica.
ReplicaGraph replica_graph(const Model& template_model, const ReplicaPlan& plan);

}  // namespace lockstep
