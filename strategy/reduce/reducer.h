#pragma once

#include <functional>
#include <span>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/reduce/arena.h>
#include <lockstep/strategy/reduce/bucket_plan.h>

namespace lockstep {

/// From a loss to updated parameters: gradients into the arena, summed over the replicas bucket by bucket, the update
/// applied to every copy. One for an optimizer; each replica calls the same functions, in the same order.
class GradientReducer {
 public:
  /// `state_slots`: how many values the optimizer keeps for each parameter; they start at 0.
  GradientReducer(std::vector<Variable> variables, int state_slots, const std::vector<LogicalDevice>& devices);

  const ParameterArena& arena() const { return arena_; }
  const std::vector<Tensor>& state() const { return state_; }

  /// This replica's gradients of `loss`, into the arena. A variable that the loss does not depend on gets 0, as on
  /// replicas that do not use it.
  void backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss);
  /// This replica's gradients as given, one for each variable; an undefined one counts as 0.
  /// Throws InvalidArgument on a wrong number or shape.
  void load(const ReplicaContext& context, std::span<const Tensor> gradients);
  /// Sums the replicas' gradients and applies `update` to every copy. Meets all replicas twice. Throws InvalidArgument,
  /// and updates nothing, when no replica has a gradient of any variable.
  void apply(const ReplicaContext& context, const UpdateFn& update);

 private:
  void check_some_gradient() const;

  ParameterArena arena_;
  std::vector<FlatRange> buckets_;
  std::vector<Tensor> state_;
  std::vector<float*> state_pointers_;
  /// Whether a replica has a gradient at all. On a cache line of its own, since only the replica's thread writes it.
  struct alignas(64) HasGradient {
    bool any = false;
  };
  std::vector<HasGradient> has_gradient_;  ///< by replica
};

}  // namespace lockstep
