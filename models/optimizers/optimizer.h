#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lockstep/models/optimizers/schedules.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/core/handle.h>
#include <lockstep/strategy/core/variable.h>
#include <lockstep/strategy/reduce/captured_gradients.h>

namespace lockstep {

/// Options that all optimizers have. 0 turns off weight decay, clipping and overwriting by the average. Options that
/// exist in Keras have Keras' names.
struct OptimizerOptions {
  /// An update first subtracts weight_decay * learning rate * parameter. Finite and not negative.
  double weight_decay = 0;
  /// Variables whose names contain one of these strings do not decay, e.g. {"bias", "gamma", "beta"}.
  std::vector<std::string> exclude_from_weight_decay{};

  // At most one of the next three options can be set; it must be finite. They clip the gradient of the global batch,
  // which is the sum over the replicas, unless clip_before_aggregate is set or aggregate is false.
  double clipvalue = 0;        ///< clips each element of the gradients to [-clipvalue, clipvalue]
  double clipnorm = 0;         ///< maximum norm of each variable's gradient; larger gradients are scaled down
  double global_clipnorm = 0;  ///< maximum norm of all gradients together
  /// Clips each replica's gradient in each step before any sum, as Keras 3 does. The limit of an update then grows with
  /// the number of replicas. Gradients of embedding tables are then exchanged as dense tensors.
  bool clip_before_aggregate = false;

  /// Whether the replicas' gradients are summed. If false, each replica updates its own copy of the variables with its
  /// own gradients; copies stay equal only if the program gives all replicas equal gradients. The first step then
  /// throws Unsupported for variables that have one copy for several replicas. With several replicas, it also throws
  /// Unsupported for optimizers that need the summed gradients of whole variables, such as Lamb.
  bool aggregate = true;

  /// Number of steps whose gradients are averaged for one update; only the last of these steps exchanges gradients. A
  /// learning rate schedule counts steps; iterations() counts updates.
  int gradient_accumulation_steps = 1;

  /// Keeps a moving average of the parameters, which finalize_variable_values assigns to them. As in Keras, every step
  /// updates the average, including steps that only accumulate gradients.
  bool use_ema = false;
  double ema_momentum = 0.99;  ///< momentum of the average, in [0, 1]
  /// If N > 0, every N-th update assigns the average to the parameters; with gradient accumulation, each step that
  /// contributes to this update assigns it.
  int ema_overwrite_frequency = 0;
  /// Writes or reads the options that Keras stores.
  void describe(OptionVisitor& visitor);
};

/// The state that an optimizer needs to resume. Gradients accumulated for the next update are not part of it.
struct OptimizerState {
  /// Number of steps done. With gradient accumulation, several steps make one update.
  std::int64_t steps = 0;
  double learning_rate = 0;  ///< learning rate of the next step
  /// One state value for each parameter, e.g. a moment.
  struct Slot {
    std::string name;            ///< Keras' name, e.g. "momentum"
    std::vector<Tensor> values;  ///< one tensor per variable, in the order of the optimizer's variables
  };
  /// The slots in the order of Optimizer::Rule::slots; the average of `use_ema` is last.
  std::vector<Slot> slots{};
};

struct OptimizerConfig;

/// Updates variables by their gradients, like Keras' optimizers. A handle; copies refer to the same optimizer. An
/// optimizer belongs to the variables of its first step. Under a strategy, every replica must make each step, with the
/// variables in the same order.
class Optimizer {
 public:
  /// Creates the optimizer's state, as in Keras. Without this call, the first step creates it. A call before the first
  /// forward pass lowers the peak memory use, but then all gradients are exchanged as dense tensors, none as
  /// IndexedSlices. Call it in every replica, or outside all strategies. Throws the same errors as `minimize`.
  void build(const std::vector<Variable>& variables) const;
  /// Computes the gradients of `loss`, this replica's share of the global loss, sums them over the replicas and applies
  /// them to every copy of the variables. Consumes the tape. Call it in every replica, or outside all strategies. If a
  /// replica's tape uses a variable only to look up rows in the first step, all steps exchange the variable's gradient
  /// as IndexedSlices. They exchange it as a dense tensor with Lamb, Muon, Adafactor, clipping by a norm,
  /// clip_before_aggregate and aggregate = false. A replica that does not use a variable adds nothing to its gradient.
  /// Throws InvalidArgument if `variables` is empty or differs from the variables of the first step, if replicas pass
  /// them in different orders, and if no replica has any gradient. Throws LogicError under another strategy than in the
  /// first step.
  void minimize(GradientTape& tape, const Tensor& loss, const std::vector<Variable>& variables) const;
  ///@{
  /// Like `minimize`, but with given gradients, one for each variable; an undefined gradient counts as 0.
  void apply_gradients(std::span<const Tensor> gradients, const std::vector<Variable>& variables) const;
  void apply_gradients(std::span<const DenseOrSparse> gradients, const std::vector<Variable>& variables) const;
  ///@}

  /// Captures the work of `minimize` on this replica's GPU, up to the exchange of gradients, and appends it to
  /// `capture`. Pass the result to the overload of `minimize` for captured gradients. Precondition: the optimizer is
  /// built. Throws NotCapturable for variables on several devices or with different weight decays, for sparse
  /// gradients, and with check_numerics.
  CapturedGradients capture_gradients(GpuCapture& capture, GradientTape& tape, const Tensor& loss,
                                      const std::vector<Variable>& variables) const;
  /// Makes a step with captured gradients. In the same step, other replicas may use the overload with a tape.
  void minimize(const CapturedGradients& gradients, const std::vector<Variable>& variables) const;

  /// The learning rate of the next step.
  double learning_rate() const;
  /// Throws InvalidArgument unless the rate is finite and >= 0. Throws LogicError in a replica, and if the optimizer
  /// has a schedule.
  void set_learning_rate(double rate) const;
  /// Makes every replica check its own gradients for NaN and infinities before they are summed; off by default. A step
  /// that finds such a value updates nothing and throws NumericError, naming the replica, the step (from 0), the
  /// variable and the element. Costs one pass over the gradients. Throws LogicError in a replica.
  void check_numerics(bool on = true) const;
  /// The number of updates done.
  std::int64_t iterations() const;
  /// The optimizer's class and options, with the current learning rate; see optimizer_config.h.
  OptimizerConfig config() const;
  /// Keras' get_config, as JSON, without options that are off. A custom schedule is written as the current rate.
  std::string get_config() const;

  // The next three throw LogicError in a replica.

  /// With `use_ema`, assigns every variable its average, as Keras does after the last epoch. Does nothing without
  /// `use_ema` and before the first step.
  void finalize_variable_values() const;
  /// A copy of the optimizer's state.
  OptimizerState state() const;
  /// Restores a state, which may come from another strategy. Throws InvalidArgument, and keeps the old state, for a
  /// learning rate that is negative or not finite, for a number of steps that is negative or at least 2^62, and for
  /// slots whose number, names, shapes or dtypes differ from this optimizer's slots. Before the first step, slots are
  /// not checked; the first step then throws InvalidArgument if they differ.
  void load_state(const OptimizerState& state) const;

  class Rule;

 protected:
  /// Throws InvalidArgument for a first learning rate that is negative or not finite, and for options out of their
  /// range.
  Optimizer(const LearningRate& learning_rate, std::unique_ptr<const Rule> rule, const OptimizerOptions& options);

 private:
  class State;
  Handle<State, "optimizer"> state_;
};

}  // namespace lockstep
