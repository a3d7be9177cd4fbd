#pragma once

#include <optional>
#include <span>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/reduce/arena.h>
#include <lockstep/strategy/reduce/bucket_plan.h>
#include <lockstep/strategy/reduce/row_reducer.h>

namespace lockstep {

/// How a reducer treats the parameters of which a step looks up rows.
struct RowOptions {
  std::vector<bool> by_rows{};  ///< for each variable whether its gradients are rows; empty: none's are
  bool every_row = true;        ///< a step also moves rows whose gradient is 0
};

/// From a loss to updated parameters: gradients into the arena, summed over the replicas bucket by bucket, the update
/// applied to every copy; gradients that are rows by a RowReducer. One for an optimizer; each replica calls the same
/// functions, in the same order.
class GradientReducer {
 public:
  /// `state_slots`: how many values the optimizer keeps for each parameter; they start at 0.
  GradientReducer(std::vector<Variable> variables, int state_slots, const std::vector<LogicalDevice>& devices,
                  const RowOptions& options = {});

  /// Of the variables whose gradients are dense. Throws std::bad_optional_access when there are none.
  const ParameterArena& arena() const { return arena_.value(); }
  const std::vector<Tensor>& state() const { return state_; }

  /// This replica's gradients of `loss`, into the arena. A variable that the loss does not depend on gets 0, as on
  /// replicas that do not use it.
  void backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss);
  /// This replica's gradients as given, one for each variable; an undefined one counts as 0. Rows of a variable whose
  /// gradients are dense are made dense. Throws InvalidArgument on a wrong number or shape.
  void load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients);
  /// Sums the replicas' gradients and applies `update` to every copy. Throws InvalidArgument, and updates nothing, when
  /// no replica has a gradient of any variable.
  void apply(const ReplicaContext& context, const UpdateFn& update);

 private:
  /// A variable's number in the arena or among the tables.
  struct Place {
    bool is_table = false;
    int number = 0;
  };

  void add_slots(int replicas);
  void check_arena() const;
  /// Takes the gradient of one variable, which is where it belongs already if it is dense in the arena.
  void accept(int replica, std::size_t variable, const DenseOrSparse& gradient);
  void check_fits(std::size_t variable, const DenseOrSparse& gradient) const;
  void check_some_gradient() const;

  std::vector<Variable> variables_;
  std::vector<Place> places_;  ///< of the variables
  std::optional<ParameterArena> arena_;
  std::optional<RowReducer> tables_;
  std::vector<FlatRange> buckets_;  ///< of the arena
  std::vector<Tensor> state_;       ///< of the arena
  std::vector<float*> state_pointers_;
  std::vector<std::vector<GradientTape::Slot>> slots_;  ///< by replica, in the order of the variables
  /// Whether a replica has a gradient at all. On a cache line of its own, since only the replica's thread writes it.
  struct alignas(64) HasGradient {
    bool any = false;
  };
  std::vector<HasGradient> has_gradient_;  ///< by replica
};

}  // namespace lockstep
