#pragma once

#include <functional>
#include <span>

#include <lockstep/kernels/update/update.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

/// Flat f32 memory of all replicas, in replica order.
struct FlatViews {
  std::span<float* const> gradients;   ///< one for each replica
  std::span<float* const> parameters;  ///< one for each copy of the variables
  std::span<float* const> state;       ///< the optimizer's slots, held once, or this replica's own
  Tensor own{};                        ///< this replica's gradients as a tensor
};

/// An optimizer's step on one range.
using UpdateFn = std::function<void(const UpdateViews&)>;

/// Applies `update` to `range` of flat memory; nothing when it is empty.
void update_range(const UpdateFn& update, const FlatViews& views, const FlatRange& range);

/// Sums the gradients of all replicas and updates all copies of the parameters with the sums, equal to the bit. Every
/// replica calls the same functions, from its own thread.
class GradientUpdate {
 public:
  virtual ~GradientUpdate() = default;

  /// Whether reduce_and_update updates the replica's own copy of the parameters as a whole, with state of its own,
  /// instead of a share of all copies: where replicas cannot reach each other's memory.
  virtual bool updates_own_copy() const { return false; }
  /// Whether gradients_final begins to exchange gradients.
  virtual bool overlaps_backward() const { return false; }
  /// The replica's gradients of range number `range`, of those that reduce_and_update is given later in the step, are
  /// final: their exchange may run beside backward. Replicas report all ranges, in any order, or none.
  virtual void gradients_final(int /*replica*/, const FlatViews& /*views*/, std::span<const FlatRange> /*ranges*/,
                               std::size_t /*range*/) {}
  /// Sums the gradients of each range over the replicas and applies `update` to every copy of the parameters. The
  /// gradients are undefined afterwards. Allocates nothing after the first call with ranges of these sizes.
  virtual void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                 const UpdateFn& update) = 0;
  /// A step of this process failed; all replicas have left it.
  virtual void abandon_step() {}
};

}  // namespace lockstep
