#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/kernels/update.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/replica_group.h>

namespace lockstep {

/// Flat f32 memory of all replicas, in replica order, as the reducer lays it out.
struct FlatViews {
  std::span<float* const> gradients;
  std::span<float* const> parameters;
  std::span<float* const> state;  ///< the optimizer's slots, held once
};

/// Elements [begin, end) of the flat memory.
struct FlatRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// An optimizer's step on one range.
using UpdateFn = std::function<void(const UpdateViews&)>;

/// How replicas combine their values. Every replica calls the same functions in the same order, from its own thread;
/// each has to be reached by all. Results are reduced in replica order, so every replica gets the same bits.
class Collective {
 public:
  virtual ~Collective() = default;

  /// The combined tensor, on every replica. Throws InvalidArgument, on all of them and naming each one's shape, when
  /// shapes, dtypes or ops differ; the collective stays usable.
  virtual Tensor all_reduce(int replica, ReduceOp op, const Tensor& value) = 0;

  /// Sums the gradients of each range over the replicas and applies `update` to every copy of the parameters.
  virtual void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                 const UpdateFn& update) = 0;
};

/// The collective for replicas on these devices. Throws Unsupported when there is none.
std::unique_ptr<Collective> make_collective(ReplicaGroup& group, const std::vector<LogicalDevice>& devices);

}  // namespace lockstep
