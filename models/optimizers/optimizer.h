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

/// Options of all optimizers besides their rule, under Keras' names; 0 turns one off.
struct OptimizerOptions {
  double weight_decay = 0;  ///< a step subtracts this times the learning rate times each parameter
  /// Variables whose names contain one of these do not decay, e.g. {"bias", "gamma", "beta"}.
  std::vector<std::string> exclude_from_weight_decay{};

  // At most one of these. They clip the gradient of the global batch, the sum over the replicas.
  double clipvalue = 0;        ///< clips each gradient to [-clipvalue, clipvalue]
  double clipnorm = 0;         ///< largest norm of each variable's gradient; larger ones are scaled
  double global_clipnorm = 0;  ///< largest norm of all gradients together
  /// As Keras 3 clips: the gradient of each replica and step, before any sum, so that the limit of an update grows with
  /// the number of replicas. Tables' gradients are dense then.
  bool clip_before_aggregate = false;

  /// Whether the replicas' gradients are summed. If not, each replica updates its own copy of the variables by its own
  /// gradients, and copies stay equal where the program has given all replicas the same ones. Not for variables with
  /// one copy for several replicas, nor, with several replicas, for rules that need norms of whole variables:
  /// Unsupported in the first step.
  bool aggregate = true;

  /// Steps whose gradients are averaged to one update; only the last of them exchanges gradients. A scheduled learning
  /// rate counts steps, iterations() counts updates.
  int gradient_accumulation_steps = 1;

  /// Keeps a moving average of the parameters, which finalize_variable_values assigns to them. As in Keras it moves in
  /// every step, also in those that only accumulate gradients.
  bool use_ema = false;
  double ema_momentum = 0.99;  ///< of the average, in [0, 1]
  /// Number of updates between assigning the average to the parameters; with accumulated gradients, in each of that
  /// update's steps.
  int ema_overwrite_frequency = 0;
};

/// An optimizer's state after its steps: all that it needs to resume. Gradients that have been accumulated for
/// the next update are not part of it.
struct OptimizerState {
  /// Steps done; with gradient accumulation, several of them make one update.
  std::int64_t steps = 0;
  double learning_rate = 0;  ///< of the next step
  /// A value for each parameter, such as a moment.
  struct Slot {
    std::string name;            ///< Keras' name, e.g. "momentum"
    std::vector<Tensor> values;  ///< by variable, in the order of the optimizer's
  };
  /// In the rule's order.
  std::vector<Slot> slots{};
};

struct OptimizerConfig;

/// A rule that updates parameters by their gradients, as in Keras. A handle: copies are the same optimizer. It
/// belongs to the variables of its first step; under a strategy every replica calls it, in the same order.
class Optimizer {
 public:
  /// Makes the state that the first step would make otherwise, as in Keras: before the first forward pass, this keeps
  /// the peak of memory lower. By every replica, or outside every strategy. No gradients are exchanged as IndexedSlices
  /// then. Throws as `minimize`.
  void build(const std::vector<Variable>& variables) const;
  /// Gradients of `loss`, this replica's share of the global loss, are summed over the replicas and applied to every
  /// copy of the variables. Consumes the tape. In a replica, or outside every strategy. The gradients of variables that
  /// the first step's tape only looked up rows of are exchanged as IndexedSlices from then on, unless the step needs
  /// norms. A replica that does not use a variable adds nothing to its gradient. Throws InvalidArgument for variables
  /// other than the first step's or in another order on some replica, and when no replica has a gradient of any;
  /// LogicError under a strategy other than its.
  void minimize(GradientTape& tape, const Tensor& loss, const std::vector<Variable>& variables) const;
  ///@{
  /// The same for given gradients, one for each variable; undefined ones count as 0.
  void apply_gradients(std::span<const Tensor> gradients, const std::vector<Variable>& variables) const;
  void apply_gradients(std::span<const DenseOrSparse> gradients, const std::vector<Variable>& variables) const;
  ///@}

  /// Captures the work of `minimize` on this replica's GPU before the exchange, after the work that `capture` has
  /// captured already, for the other `minimize`. The optimizer is built. Throws NotCapturable for variables on several
  /// devices, for gradients that are rows, and with check_numerics.
  CapturedGradients capture_gradients(GpuCapture& capture, GradientTape& tape, const Tensor& loss,
                                      const std::vector<Variable>& variables) const;
  /// A step with captured gradients, on this replica alone: others may use a tape.
  void minimize(const CapturedGradients& gradients, const std::vector<Variable>& variables) const;

  /// Of the next step.
  double learning_rate() const;
  /// Throws InvalidArgument unless finite and >= 0, LogicError in a replica and where the rate follows a schedule.
  void set_learning_rate(double rate) const;
  /// Whether every replica checks its own gradients for NaN and infinities before they are summed; it does not
  /// at first. A step that finds one throws NumericError, which names replica, step (from 0), variable and element, and
  /// updates nothing. Costs one pass over the gradients. Throws LogicError in a replica.
  void check_numerics(bool on = true) const;
  /// Updates done.
  std::int64_t iterations() const;
  /// Its class and options, with the current learning rate: see optimizer_config.h.
  OptimizerConfig config() const;
  /// Keras' get_config, as JSON, without options that are off; for a custom schedule the current rate.
  std::string get_config() const;

  // Not in a replica: these throw LogicError there.

  /// With `use_ema`, assigns every variable its average, as Keras does after the last epoch; else does nothing.
  void finalize_variable_values() const;
  /// A copy of its state.
  OptimizerState state() const;
  /// Restores a state for the variables of its first step, which may be still to come and may be under another
  /// strategy. Throws InvalidArgument, now or in the first step, where number, names or shapes are not its own, and
  /// then keeps its state.
  void load_state(const OptimizerState& state) const;

  class Rule;

 protected:
  /// Throws as set_learning_rate, and InvalidArgument for options out of their range.
  Optimizer(const LearningRate& learning_rate, std::unique_ptr<const Rule> rule, const OptimizerOptions& options);

 private:
  class State;
  Handle<State, "optimizer"> state_;
};

}  // namespace lockstep
