#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

// Learning rates that change from step to step, as in keras.optimizers.schedules.

namespace lockstep {

class OptionVisitor;

/// Returns the learning rate of step `step`, counted from 0.
using LearningRateSchedule = std::function<double(std::int64_t step)>;

/// An optimizer's learning rate: either a number, which set_learning_rate can change, or a schedule.
class LearningRate {
 public:
  ///@{
  /// From a number, or from a schedule. Throws InvalidArgument for an empty schedule.
  LearningRate(double rate) : rate_(rate) {}    // NOLINT: implicit
  LearningRate(LearningRateSchedule schedule);  // NOLINT: implicit
  ///@}

  /// Whether the rate follows a schedule, so that it cannot be set.
  bool is_schedule() const { return schedule_ != nullptr; }
  /// The rate of step `step`, counted from 0.
  double at(std::int64_t step) const { return schedule_ ? schedule_(step) : rate_; }
  /// The schedule; empty for a number.
  const LearningRateSchedule& schedule() const { return schedule_; }

 private:
  double rate_ = 0;
  LearningRateSchedule schedule_;
};

// The functions below throw InvalidArgument for decay_steps or first_decay_steps below 1.

/// ExponentialDecay's and InverseTimeDecay's options.
struct ExponentialDecayOptions {
  ///@{
  /// Keras' arguments of these names.
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;  ///< changes the rate only every decay_steps steps
  ///@}
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};
/// initial_learning_rate * decay_rate^(step / decay_steps).
LearningRateSchedule ExponentialDecay(const ExponentialDecayOptions& options);  // NOLINT: Keras' names

/// initial_learning_rate / (1 + decay_rate * step / decay_steps).
LearningRateSchedule InverseTimeDecay(const ExponentialDecayOptions& options);  // NOLINT

/// values[i] up to and including step boundaries[i], and the last value after the last boundary. Throws InvalidArgument
/// if the number of values is not the number of boundaries + 1, and if the boundaries do not strictly increase.
LearningRateSchedule PiecewiseConstantDecay(std::vector<std::int64_t> boundaries,
                                            std::vector<double> values);  // NOLINT

/// PolynomialDecay's options.
struct PolynomialDecayOptions {
  ///@{
  /// Keras' arguments of these names.
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;  ///< replaces decay_steps by its smallest positive multiple that is at least the step
  ///@}
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};
/// (initial_learning_rate - end_learning_rate) * (1 - step / decay_steps)^power + end_learning_rate; steps after
/// decay_steps count as decay_steps.
LearningRateSchedule PolynomialDecay(const PolynomialDecayOptions& options);  // NOLINT

/// CosineDecay's options.
struct CosineDecayOptions {
  ///@{
  /// Keras' arguments of these names.
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double alpha = 0;                       ///< final rate as a share of the highest rate
  std::optional<double> warmup_target{};  ///< rate after a linear warm-up of warmup_steps steps; no warm-up if empty
  std::int64_t warmup_steps = 0;
  ///@}
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};
/// Decays along half a cosine wave (Loshchilov and Hutter 2017) to alpha times the highest rate, which is
/// initial_learning_rate or, after a warm-up, warmup_target. Also throws InvalidArgument for negative warmup_steps.
LearningRateSchedule CosineDecay(const CosineDecayOptions& options);  // NOLINT

/// CosineDecayRestarts' options.
struct CosineDecayRestartsOptions {
  ///@{
  /// Keras' arguments of these names.
  double initial_learning_rate = 0;
  std::int64_t first_decay_steps = 0;
  double t_mul = 2;  ///< length of each period relative to the previous one, at least 1
  double m_mul = 1;  ///< height of each cosine wave relative to the previous one
  double alpha = 0;  ///< see CosineDecayOptions::alpha
  ///@}
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};
/// Cosine waves with warm restarts. Also throws InvalidArgument for t_mul below 1.
LearningRateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& options);  // NOLINT

}  // namespace lockstep
