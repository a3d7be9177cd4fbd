#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/bucket_exchange.h>
#include <lockstep/strategy/update/gradient_update.h>
#include <lockstep/strategy/update/gradient_wire.h>

namespace lockstep {

/// The update for replicas on distinct physical GPUs: NCCL sums the gradients range by range, and each replica updates
/// its own copy. From the second step on, gradients_final starts the sums during backward. In the first step NCCL
/// connects the GPUs, so the sums start only after all replicas have submitted their backward pass.
class NcclUpdate final : public GradientUpdate {
 public:
  /// For the replicas of `group`; `group` and `cluster` must outlive this. `cluster` is null when all GPUs are in this
  /// process. Gradients are exchanged as `wire_dtype`.
  NcclUpdate(ReplicaGroup& group, const std::vector<LogicalDevice>& gpus, std::shared_ptr<GpuCollectives> collectives,
             Cluster* cluster, DType wire_dtype)
      : group_(group),
        cluster_(cluster),
        collectives_(std::move(collectives)),
        wire_(gpus, wire_dtype),
        exchange_(gpus, *collectives_) {}

  bool updates_own_copy() const override { return true; }
  bool overlaps_backward() const override { return true; }
  void gradients_final(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                       std::size_t range) override;
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;
  void abandon_step() override;

 private:
  void sum_gradients(int replica, const FlatViews& views, std::span<const FlatRange> ranges);

  ReplicaGroup& group_;
  Cluster* cluster_;
  std::shared_ptr<GpuCollectives> collectives_;
  GradientWire wire_;
  BucketExchange exchange_;
  std::atomic<bool> connected_ = false;  ///< set when all replicas have submitted the first step's sums
};

}  // namespace lockstep
