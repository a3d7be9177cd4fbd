#pragma once

#include <functional>
#include <span>

#include <lockstep/kernels/update/update.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/comm/collective_names.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

/// Pointers to flat f32 memory, all with the same layout. GradientUpdate's functions take the memory of all replicas,
/// in replica order; update_range takes only the memory that this update reads and writes.
struct FlatViews {
  std::span<float* const> gradients;   ///< one for each replica, or sums over some of the replicas
  std::span<float* const> parameters;  ///< memory to write: the parameters' copies or, to only sum, the gradients
  std::span<float* const> state;       ///< the optimizer's slots: one set for all replicas, or this replica's own set
  Tensor own{};                        ///< this replica's gradients as a tensor; not needed by update_range
  const char* name = gradients_name;   ///< names the gradients in errors; the same on all replicas of a process
};

/// An optimizer's step on one range.
using UpdateFn = std::function<void(const UpdateViews&)>;

/// Applies `update` to `range` of the flat memory; does nothing if `range` is empty.
void update_range(const UpdateFn& update, const FlatViews& views, const FlatRange& range);

/// Sums the gradients of all replicas and updates all copies of the parameters with the sums. The copies stay
/// bit-identical. Every replica must call the same functions, on its own thread.
class GradientUpdate {
 public:
  virtual ~GradientUpdate() = default;

  /// Whether each replica updates its own copy of all parameters, with an optimizer state of its own, because replicas
  /// do not access each other's memory. If false, all replicas share one optimizer state.
  virtual bool updates_own_copy() const { return false; }
  /// Whether captured GPU work must be split into parts at the points where a range's gradients become final, so that
  /// gradients_final can start the range's exchange between two parts.
  virtual bool overlaps_backward() const { return false; }
  /// Reports that the replica's gradients of range number `range` are final; their exchange may run concurrently with
  /// backward. `ranges` must be the same as in the step's reduce_and_update. Either all replicas report all ranges, in
  /// any order, or no replica reports any.
  virtual void gradients_final(int /*replica*/, const FlatViews& /*views*/, std::span<const FlatRange> /*ranges*/,
                               std::size_t /*range*/) {}
  /// Sums the gradients of each range over the replicas and applies `update` to every copy of the parameters. The
  /// values of the gradients are unspecified afterwards, unless `views.parameters` are the gradients. After the first
  /// call, ranges of the same sizes need no further memory from the system.
  virtual void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                 const UpdateFn& update) = 0;
  /// Called after a step has failed and all replicas of this process have left it.
  virtual void abandon_step() {}
};

}  // namespace lockstep
