#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include <lockstep/models/optimizers/schedules.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

void check_steps(std::string_view schedule, std::int64_t decay_steps) {
  require(decay_steps >= 1, "{} needs decay_steps of at least 1, got {}", schedule, decay_steps);
}

/// step / decay_steps, rounded down to a whole number for a staircase.
double periods(const ExponentialDecayOptions& options, std::int64_t step) {
  const double exact = static_cast<double>(step) / static_cast<double>(options.decay_steps);
  return options.staircase ? std::floor(exact) : exact;
}

/// From 1 to `alpha` along half a cosine wave, times `height`.
double half_wave(double fraction, double alpha, double height = 1) {
  const double wave = 0.5 * height * (1 + std::cos(std::numbers::pi * fraction));
  return (1 - alpha) * wave + alpha;
}

}  // namespace

LearningRateSchedule ExponentialDecay(const ExponentialDecayOptions& options) {
  check_steps("ExponentialDecay", options.decay_steps);
  return [options](std::int64_t step) {
    return options.initial_learning_rate * std::pow(options.decay_rate, periods(options, step));
  };
}

LearningRateSchedule InverseTimeDecay(const ExponentialDecayOptions& options) {
  check_steps("InverseTimeDecay", options.decay_steps);
  return [options](std::int64_t step) {
    return options.initial_learning_rate / (1 + options.decay_rate * periods(options, step));
  };
}

LearningRateSchedule PiecewiseConstantDecay(std::vector<std::int64_t> boundaries, std::vector<double> values) {
  require(values.size() == boundaries.size() + 1,
          "PiecewiseConstantDecay needs one value more than its {} boundaries, "
          "got {}",
          boundaries.size(), values.size());
  require(std::ranges::is_sorted(boundaries, std::ranges::less_equal{}),
          "the boundaries of PiecewiseConstantDecay must increase");
  return [boundaries = std::move(boundaries), values = std::move(values)](std::int64_t step) {
    const auto passed = std::ranges::lower_bound(boundaries, step) - boundaries.begin();
    return values[static_cast<std::size_t>(passed)];
  };
}

LearningRateSchedule PolynomialDecay(const PolynomialDecayOptions& options) {
  check_steps("PolynomialDecay", options.decay_steps);
  return [options](std::int64_t step) {
    const auto length = static_cast<double>(options.decay_steps);
    const auto at = static_cast<double>(step);
    const double end = options.cycle ? length * std::max(1.0, std::ceil(at / length)) : length;
    const double left = 1 - std::min(at, end) / end;
    return (options.initial_learning_rate - options.end_learning_rate) * std::pow(left, options.power) +
           options.end_learning_rate;
  };
}

LearningRateSchedule CosineDecay(const CosineDecayOptions& options) {
  check_steps("CosineDecay", options.decay_steps);
  require(options.warmup_steps >= 0, "CosineDecay cannot warm up for {} steps", options.warmup_steps);
  return [options](std::int64_t step) {
    const std::int64_t warmup_steps = options.warmup_target ? options.warmup_steps : 0;
    const double top = options.warmup_target.value_or(options.initial_learning_rate);
    if (step < warmup_steps)
      return options.initial_learning_rate +
             (top - options.initial_learning_rate) * static_cast<double>(step) / static_cast<double>(warmup_steps);
    const std::int64_t done = std::min(step - warmup_steps, options.decay_steps);
    return top * half_wave(static_cast<double>(done) / static_cast<double>(options.decay_steps), options.alpha);
  };
}

LearningRateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& options) {
  check_steps("CosineDecayRestarts", options.first_decay_steps);
  require(options.t_mul >= 1, "the periods of CosineDecayRestarts cannot become shorter: t_mul is {}", options.t_mul);
  return [options](std::int64_t step) {
    double left = static_cast<double>(step) / static_cast<double>(options.first_decay_steps);  // in first periods
    double length = 1;
    double height = 1;
    while (left >= length) {
      left -= length;
      length *= options.t_mul;
      height *= options.m_mul;
    }
    return options.initial_learning_rate * half_wave(left / length, options.alpha, height);
  };
}

}  // namespace lockstep
