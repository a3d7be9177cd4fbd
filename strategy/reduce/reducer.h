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

/// A step of the parameters' moving average.
struct AverageStep {
  float momentum = 0;       ///< average = momentum * average + (1 - momentum) * parameter
  bool overwrites = false;  ///< then gives each parameter its average
};

/// From a loss to updated parameters: gradients into the arena, summed over the replicas bucket by bucket, the update
/// applied to every copy; gradients that are rows by a RowReducer. One for an optimizer; each replica calls the same
/// functions, in the same order.
class GradientReducer {
 public:
  /// Moves the variables into an arena, those with gradients by rows into a RowReducer. Throws as these do.
  GradientReducer(std::vector<Variable> variables, const std::vector<LogicalDevice>& devices,
                  const ReducerOptions& options = {});

  /// As given, in their order.
  const std::vector<Variable>& variables() const { return variables_; }
  /// Of the variables whose gradients are dense. Throws std::bad_optional_access when there are none.
  const ParameterArena& arena() const { return arena_.value(); }
  /// Value number `slot` of every parameter of variable number `variable`: a view, in the variable's shape. Not while
  /// replicas take a step.
  Tensor state(std::size_t variable, std::size_t slot) const;
  /// Gives it another value.
  void set_state(std::size_t variable, std::size_t slot, const Tensor& value) const;

  /// Whether each replica looks for NaN and infinities in its own gradients, which it does not at first. Not while
  /// replicas take a step.
  void check_numerics(bool on) { checks_numerics_ = on; }

  /// Whether gradients go straight from backward to apply, or sum_gradients, so that a bucket may be exchanged as soon
  /// as it is final, or something is done to them first. The same on all replicas.
  enum class AfterBackward { apply, transform };
  /// This replica's gradients of `loss`, into the arena. A variable that the loss does not depend on gets 0, as on
  /// replicas that do not use it. With check_numerics it ends with NumericError at the first gradient that is not
  /// finite: as backward goes, at what lies next to the place where that began.
  void backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss,
                AfterBackward next = AfterBackward::transform);
  /// Captures what backward would have the replica's GPU compute, after what `capture` has noted already; nothing is
  /// computed, and no bucket exchanged, before the result is given to `backward`. Throws NotCapturable where gradients
  /// may be rows, and with check_numerics.
  CapturedGradients capture_backward(const ReplicaContext& context, GpuCapture& capture, GradientTape& tape,
                                     const Tensor& loss, AfterBackward next = AfterBackward::transform);
  /// This replica's gradients as captured, into the arena; as often as one likes.
  void backward(const ReplicaContext& context, const CapturedGradients& captured);
  /// This replica's gradients as given, one for each variable; an undefined one counts as 0. Rows of a variable whose
  /// gradients are dense are made dense. Throws InvalidArgument on a wrong number or shape.
  void load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients);
  /// This replica's gradient of variable number `variable` as it is now: a view that may be written. Precondition: its
  /// gradients are dense.
  Tensor own_gradient(const ReplicaContext& context, std::size_t variable) const;
  /// Keeps this replica's gradients, to be added to the next ones. No collective.
  void accumulate(const ReplicaContext& context);
  /// Moves value `slot` of every parameter, its average, where no update does. Every replica has to call it.
  void move_average(const ReplicaContext& context, std::size_t slot, const AverageStep& step) const;
  /// Sums the replicas' gradients and applies `update` to every copy. Throws InvalidArgument, and updates nothing, when
  /// no replica has a gradient of any variable.
  void apply(const ReplicaContext& context, const UpdateFn& update);
  /// Applies `update` to this replica's own copy, by its own gradients alone. Throws InvalidArgument where it has none.
  /// Precondition: ReducerOptions::own_copies, and no gradients by rows.
  void apply_own(const ReplicaContext& context, const UpdateFn& update);

  // The same in parts, for steps that depend on the norms of whole variables, none of whose gradients may be rows.

  /// Gives every replica the sum of all replicas' gradients in place of its own. Throws as apply.
  void sum_gradients(const ReplicaContext& context);
  /// Which of the two buffers.
  enum class ArenaBuffer { gradients, parameters };
  /// The sum of squares of each variable's gradient or value, on every replica; after sum_gradients.
  std::vector<double> squared_norms(const ReplicaContext& context, ArenaBuffer buffer);
  /// Applies `update` of a variable's number to this replica's part of every variable: to all copies of the parameters
  /// or, where `to` says so, of the gradients. Returns when all replicas have.
  void update_by_variable(const ReplicaContext& context, ArenaBuffer to,
                          const std::function<void(std::size_t variable, const UpdateViews&)>& update);

 private:
  /// A variable's number in the arena or among the tables.
  struct Place {
    bool is_table = false;
    int number = 0;
  };

  /// The optimizer's slots of the arena.
  struct State {
    std::vector<Tensor> slots{};
    std::vector<float*> pointers{};
  };

  void add_arena(std::vector<Variable> variables, const std::vector<float>& slots);
  void add_state(const LogicalDevice& device, const std::vector<float>& slots);
  const State& state_of(int replica) const { return state_[own_copies_ ? static_cast<std::size_t>(replica) : 0]; }
  void add_slots(int replicas);
  void check_ownership() const;
  /// The computing of backward; `bucket_final` is called when all gradients of a bucket are final, if they go to apply.
  void compute_gradients(int replica, GradientTape& tape, const Tensor& loss, AfterBackward next,
                         const std::function<void(std::size_t bucket)>& bucket_final);
  /// Takes the gradient of one variable, which is where it belongs already if it is dense in the arena.
  void accept(int replica, std::size_t variable, const DenseOrSparse& gradient);
  /// Throws NumericError naming the variable, its shape, and the first element that is not finite.
  void require_finite(int replica, std::size_t variable, const DenseOrSparse& gradient) const;
  /// Adds what has been kept to this replica's gradients.
  void add_accumulated(int replica);
  FlatViews views_of(int replica) const;
  std::size_t bucket_of(int variable) const;
  void check_fits(std::size_t variable, const DenseOrSparse& gradient) const;
  void check_some_gradient() const;

  /// The context of this replica's part of a step, on the device of its gradients.
  ExecutionContext context_of(int replica) const;

  std::vector<LogicalDevice> devices_;  ///< by replica
  bool own_copies_;
  bool checks_numerics_ = false;
  std::vector<Variable> variables_;
  std::vector<Place> places_;  ///< of the variables
  std::optional<ParameterArena> arena_;
  std::optional<RowReducer> tables_;
  std::vector<FlatRange> buckets_;  ///< of the arena
  std::vector<int> variables_in_bucket_;
  std::vector<State> state_;                            ///< once, or by replica where each updates its own copy
  std::vector<std::vector<GradientTape::Slot>> slots_;  ///< by replica, in the order of the variables
  std::vector<double> squared_norms_[2];                ///< by variable; of gradients and of parameters

  Tensor state(std::size_t variable, std::size_t slot, std::size_t replica) const;
  Tensor state_in_arena(int variable, std::size_t slot, std::size_t replica) const;

  /// What only the replica's thread writes, on cache lines of its own.
  struct alignas(64) Own {
    bool has_gradient = false;  ///< of any variable, in any step since the last update
    Tensor accumulated{};       ///< like its gradients in the arena
    bool has_accumulated = false;
    std::vector<int> left_in_bucket{};  ///< variables whose gradients are not final yet
  };
  std::vector<Own> own_;  ///< by replica
};

}  // namespace lockstep
