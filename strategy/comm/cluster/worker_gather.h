#pragma once

#include <vector>

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Joins the workers' results of all_gather, each of which covers one worker's replicas.
class WorkerGather {
 public:
  /// For the replicas of `group` on this worker of `cluster`. Both must outlive this.
  WorkerGather(ReplicaGroup& group, Cluster& cluster) : group_(group), cluster_(cluster) {}

  /// Called by every replica. On entry `values` are this worker's values, joined along `axis`; on return, the joined
  /// values of all workers, with the replica's offsets in them.
  void run(int replica, int axis, std::vector<Gathered>& values);

 private:
  ReplicaGroup& group_;
  Cluster& cluster_;
  std::vector<Gathered> of_all_;  ///< results of all workers; made by replica 0
};

}  // namespace lockstep
