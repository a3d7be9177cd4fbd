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

/// What all optimizers can do besides their rule, in Keras' words; 0 means not at all.
struct OptimizerOptions {
  double weight_decay = 0;  ///< share of each parameter that a step takes off, times the learning rate
  /// Variables whose names contain one of these do not decay, e.g. {"bias", "gamma", "beta"}.
  std::vector<std::string> exclude_from_weight_decay{};

  // At most one of these. What is clipped is the gradient of the global batch, the sum over the replicas.
  double clipvalue = 0;        ///< each gradient is brought into [-clipvalue, clipvalue]
  double clipnorm = 0;         ///< the largest norm that each variable's gradient may have; larger ones are scaled
  double global_clipnorm = 0;  ///< the largest norm that all gradients together may have
  /// As Keras 3 clips: the gradient of each replica and step, before any sum, so that the limit of an update grows with
  /// the number of replicas. Tables' gradients are dense then.
  bool clip_before_aggregate = false;

  /// Whether the replicas' gradients are summed. If not, each replica updates its own copy of the variables by its own
  /// gradients, and copies stay equal where the program has given all replicas the same ones. Not for variables with
  /// one copy for several replicas, nor, with several replicas, for rules that need norms of whole variables:
  /// Unsupported in the first step.
  bool aggregate = true;

  /// Steps whose gradients are averaged to one update; only then do the replicas exchange them. A scheduled learning
  /// rate counts steps, iterations() counts updates.
  int gradient_accumulation_steps = 1;

  /// A moving average of the parameters is kept, which finalize_variable_values takes over. As in Keras it moves in
  /// every step, also in those that only accumulate gradients.
  bool use_ema = false;
  double ema_momentum = 0.99;  ///< of the average, in [0, 1]
  /// Updates after which the parameters become their average, each time; with gradients accumulated, in each of that
  /// update's steps.
  int ema_overwrite_frequency = 0;
};

/// What an optimizer knows after its steps: what it takes to go on from there. Gradients that have been accumulated for
/// the next update are not part of it.
struct OptimizerState {
  /// Steps done; with gradient accumulation, several of them make one update.
  std::int64_t steps = 0;
  double learning_rate = 0;  ///< of the next step
  /// What is kept for each parameter, such as a moment.
  struct Slot {
    std::string name;            ///< Keras' name of what is kept, e.g. "momentum"
    std::vector<Tensor> values;  ///< by variable, in the order of the optimizer's
  };
  /// In the rule's order.
  std::vector<Slot> slots{};
};

struct OptimizerConfig;

/// A rule that moves parameters along their gradients, in Keras' words. A handle: copies are the same optimizer. It
/// belongs to the variables of its first step; under a strategy every replica calls it, in the same order.
class Optimizer {
 public:
  /// Makes what the first step would make otherwise, as Keras' does: before the first forward pass, that keeps the peak
  /// of memory lower. By every replica, or outside every strategy. No gradients are exchanged as IndexedSlices then.
  /// Throws as `minimize`.
  void build(const std::vector<Variable>& variables) const;
  /// This replica's gradients of `loss` (its share of the global loss: they are SUMmed over the replicas), reduced and
  /// applied to every copy of the variables. Uses the tape up. In a replica, or outside every strategy. The gradients
  /// of variables that the first step's tape only looked up rows of are exchanged as IndexedSlices from then on, unless
  /// the step needs norms.
  /// A replica that does not use a variable adds nothing to its gradient. Throws InvalidArgument for variables other
  /// than the first step's or in another order on some replica, and when no replica has a gradient of any; LogicError
  /// under a strategy other than its.
  void minimize(GradientTape& tape, const Tensor& loss, const std::vector<Variable>& variables) const;
  ///@{
  /// The same for gradients that are there already, one for each variable; undefined ones count as 0.
  void apply_gradients(std::span<const Tensor> gradients, const std::vector<Variable>& variables) const;
  void apply_gradients(std::span<const DenseOrSparse> gradients, const std::vector<Variable>& variables) const;
  ///@}

  /// Captures what `minimize` would have this replica's GPU compute before the exchange, after what `capture` has noted
  /// already, for the other `minimize`. The optimizer is built. Throws NotCapturable for variables on several devices,
  /// for gradients that are rows, and with check_numerics.
  CapturedGradients capture_gradients(GpuCapture& capture, GradientTape& tape, const Tensor& loss,
                                      const std::vector<Variable>& variables) const;
  /// A step of gradients as captured. By a replica for itself: others may take theirs from a tape.
  void minimize(const CapturedGradients& gradients, const std::vector<Variable>& variables) const;

  /// Of the next step.
  double learning_rate() const;
  /// Throws InvalidArgument unless finite and >= 0, LogicError in a replica and where the rate follows a schedule.
  void set_learning_rate(double rate) const;
  /// Whether every replica looks for NaN and infinities in its own gradients, before they meet the others'; it does not
  /// at first. A step that finds one throws NumericError, which names replica, step (from 0), variable and element, and
  /// updates nothing. Costs a pass over the gradients. Throws LogicError in a replica.
  void check_numerics(bool on = true) const;
  /// Updates done.
  std::int64_t iterations() const;
  /// What it was made of, with the learning rate of now: see optimizer_config.h.
  OptimizerConfig config() const;
  /// Keras' get_config, as JSON, but for options that are off; for a schedule of a program's own the rate of now.
  std::string get_config() const;

  // Not in a replica: these throw LogicError there.

  /// With `use_ema`, gives every variable its average; else does nothing. What Keras does after the last epoch.
  void finalize_variable_values() const;
  /// A copy of what it knows.
  OptimizerState state() const;
  /// Goes on from there, with the variables of its first step, which may be still to come and may be under another
  /// strategy. Throws InvalidArgument, now or in the first step, where number, names or shapes are not its own, and
  /// then knows what it knew before.
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
