#pragma once

#include <vector>

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Joins what the replicas of each worker have gathered: the second half of all_gather over several workers.
class WorkerGather {
 public:
  /// For the replicas of `group` on this worker of `cluster`, which both outlive this.
  WorkerGather(ReplicaGroup& group, Cluster& cluster) : group_(group), cluster_(cluster) {}

  /// Every replica comes with this worker's values, joined along `axis`, and gets those of all workers.
  void run(int replica, int axis, std::vector<Gathered>& values);

 private:
  ReplicaGroup& group_;
  Cluster& cluster_;
  std::vector<Gathered> of_all_;  ///< made by the worker's first replica
};

}  // namespace lockstep
