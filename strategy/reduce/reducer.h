#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/reduce/arena.h>
#include <lockstep/strategy/reduce/bucket_plan.h>
#include <lockstep/strategy/reduce/captured_gradients.h>
#include <lockstep/strategy/reduce/row_reducer.h>

namespace lockstep {

/// Options of GradientReducer::move_average.
struct AverageStep {
  float momentum = 0;       ///< average = momentum * average + (1 - momentum) * parameter
  bool overwrites = false;  ///< whether to set parameter = average afterwards
};

/// Computes gradients of a loss into the arena, sums them over the replicas bucket by bucket and applies the update to
/// every copy of the parameters. A RowReducer handles gradients by rows. An optimizer has a GradientReducer for each
/// group of variables with the same devices and weight decay. All replicas must call the same functions in the same
/// order. backward, capture_backward and load throw LogicError once another optimizer has taken over one of the
/// variables.
class GradientReducer {
 public:
  /// Moves the variables with gradients by rows into a RowReducer and all others into an arena. Throws the errors of
  /// their constructors.
  GradientReducer(std::vector<Variable> variables, const std::vector<LogicalDevice>& devices,
                  const ReducerOptions& options = {});

  /// The variables in the order given.
  const std::vector<Variable>& variables() const { return variables_; }
  /// The arena of the variables with dense gradients. Throws std::bad_optional_access if all variables have gradients
  /// by rows.
  const ParameterArena& arena() const { return arena_.value(); }
  /// The optimizer's slot number `slot` for variable number `variable`: a view in the variable's shape. Precondition:
  /// no replica is in a step.
  Tensor state(std::size_t variable, std::size_t slot) const;
  /// Sets slot number `slot` of variable number `variable` in all copies of the state. Same precondition as state().
  void set_state(std::size_t variable, std::size_t slot, const Tensor& value) const;

  /// Enables or disables checks for NaN and infinity in each replica's own gradients; off by default. Precondition: no
  /// replica is in a step.
  void check_numerics(bool on) { checks_numerics_ = on; }

  /// The caller's next step after backward(). apply: the caller calls apply() or sum_gradients() directly, so that a
  /// bucket can be exchanged as soon as it is final. transform: the caller changes the gradients first. Must be equal
  /// on all replicas.
  enum class AfterBackward { apply, transform };
  /// Computes this replica's gradients of `loss` into the arena; 0 for a variable that the loss does not depend on.
  /// With check_numerics, throws NumericError for the first gradient that is not finite, in the order of backward.
  void backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss,
                AfterBackward next = AfterBackward::transform);
  /// Captures the GPU work of backward, after the work that `capture` already holds. Computes and exchanges nothing
  /// until the result is passed to `backward`. Throws NotCapturable when gradients may be IndexedSlices, and with
  /// check_numerics.
  CapturedGradients capture_backward(const ReplicaContext& context, GpuCapture& capture, GradientTape& tape,
                                     const Tensor& loss, AfterBackward next = AfterBackward::transform);
  /// Launches captured work, which computes this replica's gradients into the arena. May be called repeatedly.
  void backward(const ReplicaContext& context, const CapturedGradients& captured);
  /// Sets this replica's gradients, one f32 gradient for each variable; undefined gradients count as 0. Converts
  /// IndexedSlices to dense gradients for variables in the arena. Throws InvalidArgument for a wrong number of
  /// gradients, a wrong shape or dtype and rows outside the variable. With check_numerics, throws NumericError for a
  /// gradient that is not finite.
  void load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients);
  /// This replica's current gradient of variable number `variable`: a writable view. Precondition: the variable's
  /// gradients are dense.
  Tensor own_gradient(const ReplicaContext& context, std::size_t variable) const;
  /// Adds this replica's gradients to a sum that the next update includes. Not a collective.
  void accumulate(const ReplicaContext& context);
  /// Updates the moving averages of all parameters, in slot number `slot`, without an optimizer step. A collective.
  void move_average(const ReplicaContext& context, std::size_t slot, const AverageStep& step) const;
  /// Sums the replicas' gradients and applies `update` to every copy. A collective. Throws InvalidArgument and updates
  /// nothing when no replica of this process has a gradient of any variable.
  void apply(const ReplicaContext& context, const UpdateFn& update);
  /// Applies `update` to this replica's own copy, using only its own gradients. A collective: returns when all replicas
  /// have finished. Throws InvalidArgument when this replica has no gradient. Precondition: ReducerOptions::own_copies,
  /// and no gradients by rows.
  void apply_own(const ReplicaContext& context, const UpdateFn& update);

  // The parts of apply, for steps that depend on norms of whole variables. Precondition: no gradients by rows.

  /// Replaces every replica's gradients by the sum over all replicas. A collective. Throws the same errors as apply.
  void sum_gradients(const ReplicaContext& context);
  /// The arena's buffers.
  enum class ArenaBuffer { gradients, parameters };
  /// The sum of squares of each variable's gradient or value, in the order of variables(); equal on all replicas. A
  /// collective. Precondition for gradients: sum_gradients was called.
  std::vector<double> squared_norms(const ReplicaContext& context, ArenaBuffer buffer);
  /// How replicas share the work: each replica gets a part of every variable, or some variables as a whole.
  enum class Parts { of_each, whole };
  /// Calls `update(variable number, views)` for this replica's part of the variables (with own_copies, for all
  /// variables). `to` selects whether `update` writes the parameters or the gradients. `update` writes all copies or,
  /// with own_copies, only the replica's own copy. A collective: returns when all replicas have finished.
  void update_by_variable(const ReplicaContext& context, ArenaBuffer to,
                          const std::function<void(std::size_t variable, const UpdateViews&)>& update,
                          Parts parts = Parts::of_each);

 private:
  /// Location of a variable: its number in the arena or among the tables.
  struct Place {
    bool is_table = false;
    int number = 0;
  };

  /// The optimizer's slots for the arena.
  struct State {
    std::vector<Tensor> slots{};
    std::vector<float*> pointers{};
  };

  void add_arena(std::vector<Variable> variables, const std::vector<float>& slots);
  void add_state(const LogicalDevice& device, const std::vector<float>& slots);
  const State& state_of(int replica) const { return state_[own_copies_ ? static_cast<std::size_t>(replica) : 0]; }
  void add_slots(int replicas);
  void check_ownership() const;
  /// Implements backward; if `next` is apply, calls `bucket_final` when all gradients of a bucket are final.
  void compute_gradients(int replica, GradientTape& tape, const Tensor& loss, AfterBackward next,
                         const std::function<void(std::size_t bucket)>& bucket_final);
  /// Processes the gradient of one variable. Passes a table's gradient to the RowReducer. A defined gradient of a
  /// variable in the arena has already been written there; an undefined one counts as 0 and is left to write_zeros.
  void accept(int replica, std::size_t variable, const DenseOrSparse& gradient);
  void write_zeros(int replica);
  /// Throws NumericError naming the variable, its shape, and the first element that is not finite.
  void require_finite(int replica, std::size_t variable, const DenseOrSparse& gradient) const;
  /// Adds the accumulated gradients to this replica's gradients.
  void add_accumulated(int replica);
  FlatViews views_of(int replica) const;
  std::size_t bucket_of(int variable) const;
  void check_fits(std::size_t variable, const DenseOrSparse& gradient) const;
  void check_some_gradient() const;

  /// Execution context on the device of the replica's gradients.
  ExecutionContext context_of(int replica) const;

  std::vector<LogicalDevice> devices_;  ///< by replica
  bool own_copies_;
  bool checks_numerics_ = false;
  std::vector<Variable> variables_;
  std::vector<Place> places_;  ///< by variable
  std::optional<ParameterArena> arena_;
  std::optional<RowReducer> tables_;
  std::vector<FlatRange> buckets_;  ///< buckets of the arena
  std::vector<int> variables_in_bucket_;
  std::vector<State> state_;                            ///< one for all replicas or, with own_copies_, one per replica
  std::vector<std::vector<GradientTape::Slot>> slots_;  ///< by replica, in the order of the variables
  std::vector<double> squared_norms_[2];                ///< by ArenaBuffer and variable

  Tensor state(std::size_t variable, std::size_t slot, std::size_t replica) const;
  Tensor state_in_arena(int variable, std::size_t slot, std::size_t replica) const;

  /// Data that only the replica's thread writes, on separate cache lines.
  struct alignas(64) Own {
    bool has_gradient = false;  ///< whether any variable has had a gradient since the last update
    Tensor accumulated{};       ///< same layout as the replica's gradients in the arena
    bool has_accumulated = false;
    std::vector<int> left_in_bucket{};  ///< by bucket: number of variables whose gradients are not final yet
    std::vector<std::size_t> zeros{};   ///< variables in the arena whose gradients are 0 and not written yet
  };
  std::vector<Own> own_;  ///< by replica
};

}  // namespace lockstep
