#include "lockstep/models/optimizers/schedules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

void check_steps(std::string_view schedule, std::int64_t decay_steps) {
  require(decay_steps >= 1, "{} needs decay_steps of at least 1, got {}", schedule, decay_steps);
}

/// step / decay_steps, rounded down if `staircase`.
double periods(const ExponentialDecayOptions& options, std::int64_t step) {
  const double exact = static_cast<double>(step) / static_cast<double>(options.decay_steps);
  return options.staircase ? std::floor(exact) : exact;
}

/// Half a cosine wave: (1 - alpha) * height + alpha for fraction 0, alpha for fraction 1.
double half_wave(double fraction, double alpha, double height = 1) {
  const double wave = 0.5 * height * (1 + std::cos(std::numbers::pi * fraction));
  return (1 - alpha) * wave + alpha;
}

// Functions of the schedules. known_schedules recognizes a schedule by their types.

struct ExponentialRate {
  ExponentialDecayOptions options;
  double operator()(std::int64_t step) const {
    return options.initial_learning_rate * std::pow(options.decay_rate, periods(options, step));
  }
};

struct InverseTimeRate {
  ExponentialDecayOptions options;
  double operator()(std::int64_t step) const {
    return options.initial_learning_rate / (1 + options.decay_rate * periods(options, step));
  }
};

struct PiecewiseConstantOptions {
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;
  void describe(OptionVisitor& visitor) {
    visitor.option("boundaries", boundaries);
    visitor.option("values", values);
  }
};

struct PiecewiseConstantRate {
  PiecewiseConstantOptions options;
  double operator()(std::int64_t step) const {
    const auto passed = std::ranges::lower_bound(options.boundaries, step) - options.boundaries.begin();
    return options.values[static_cast<std::size_t>(passed)];
  }
};

struct PolynomialRate {
  PolynomialDecayOptions options;
  double operator()(std::int64_t step) const {
    const auto length = static_cast<double>(options.decay_steps);
    const auto at = static_cast<double>(step);
    const double end = options.cycle ? length * std::max(1.0, std::ceil(at / length)) : length;
    const double left = 1 - std::min(at, end) / end;
    return (options.initial_learning_rate - options.end_learning_rate) * std::pow(left, options.power) +
           options.end_learning_rate;
  }
};

struct CosineRate {
  CosineDecayOptions options;
  double operator()(std::int64_t step) const {
    const std::int64_t warmup_steps = options.warmup_target ? options.warmup_steps : 0;
    const double top = options.warmup_target.value_or(options.initial_learning_rate);
    if (step < warmup_steps)
      return options.initial_learning_rate +
             (top - options.initial_learning_rate) * static_cast<double>(step) / static_cast<double>(warmup_steps);
    const std::int64_t done = std::min(step - warmup_steps, options.decay_steps);
    return top * half_wave(static_cast<double>(done) / static_cast<double>(options.decay_steps), options.alpha);
  }
};

struct CosineRestartsRate {
  CosineDecayRestartsOptions options;
  double operator()(std::int64_t step) const {
    double left = static_cast<double>(step) / static_cast<double>(options.first_decay_steps);  // unit: first period
    double length = 1;
    double height = 1;
    if (options.t_mul == 1) {
      const double periods = std::floor(left);
      left -= periods;
      height = std::pow(options.m_mul, periods);
    }
    while (left >= length) {
      left -= length;
      length *= options.t_mul;
      height *= options.m_mul;
    }
    return options.initial_learning_rate * half_wave(left / length, options.alpha, height);
  }
};

LearningRateSchedule piecewise_constant(const PiecewiseConstantOptions& options) {
  return PiecewiseConstantDecay(options.boundaries, options.values);
}

/// A Keras schedule: the functions that write and read its config.
struct KnownSchedule {
  const char* class_name;
  std::optional<ObjectConfig> (*config)(const char* class_name, const LearningRateSchedule& schedule);
  LearningRateSchedule (*read)(OptionVisitor& visitor);
};

template <class Rate, auto make>
constexpr KnownSchedule known(const char* class_name) {
  using Options = decltype(Rate::options);
  return {class_name,
          [](const char* name, const LearningRateSchedule& schedule) -> std::optional<ObjectConfig> {
            const Rate* rate = schedule.target<Rate>();
            if (rate == nullptr) return {};
            return config_of(name, rate->options);
          },
          [](OptionVisitor& visitor) { return make(read_options<Options>(visitor)); }};
}

constexpr std::array known_schedules{known<ExponentialRate, ExponentialDecay>("ExponentialDecay"),
                                     known<InverseTimeRate, InverseTimeDecay>("InverseTimeDecay"),
                                     known<PiecewiseConstantRate, piecewise_constant>("PiecewiseConstantDecay"),
                                     known<PolynomialRate, PolynomialDecay>("PolynomialDecay"),
                                     known<CosineRate, CosineDecay>("CosineDecay"),
                                     known<CosineRestartsRate, CosineDecayRestarts>("CosineDecayRestarts")};

}  // namespace

void ExponentialDecayOptions::describe(OptionVisitor& visitor) {
  visitor.option("initial_learning_rate", initial_learning_rate);
  visitor.option("decay_steps", decay_steps);
  visitor.option("decay_rate", decay_rate);
  visitor.option("staircase", staircase);
}

void PolynomialDecayOptions::describe(OptionVisitor& visitor) {
  visitor.option("initial_learning_rate", initial_learning_rate);
  visitor.option("decay_steps", decay_steps);
  visitor.option("end_learning_rate", end_learning_rate);
  visitor.option("power", power);
  visitor.option("cycle", cycle);
}

void CosineDecayOptions::describe(OptionVisitor& visitor) {
  visitor.option("initial_learning_rate", initial_learning_rate);
  visitor.option("decay_steps", decay_steps);
  visitor.option("alpha", alpha);
  visitor.option("warmup_target", warmup_target);
  visitor.option("warmup_steps", warmup_steps);
}

void CosineDecayRestartsOptions::describe(OptionVisitor& visitor) {
  visitor.option("initial_learning_rate", initial_learning_rate);
  visitor.option("first_decay_steps", first_decay_steps);
  visitor.option("t_mul", t_mul);
  visitor.option("m_mul", m_mul);
  visitor.option("alpha", alpha);
}

LearningRate::LearningRate(LearningRateSchedule schedule) : schedule_(std::move(schedule)) {
  require(schedule_ != nullptr, "a learning rate was given a schedule that is null");
}

LearningRateSchedule ExponentialDecay(const ExponentialDecayOptions& options) {
  check_steps("ExponentialDecay", options.decay_steps);
  return ExponentialRate{options};
}

LearningRateSchedule InverseTimeDecay(const ExponentialDecayOptions& options) {
  check_steps("InverseTimeDecay", options.decay_steps);
  return InverseTimeRate{options};
}

LearningRateSchedule PiecewiseConstantDecay(std::vector<std::int64_t> boundaries, std::vector<double> values) {
  require(values.size() == boundaries.size() + 1,
          "PiecewiseConstantDecay needs one value more than its {} boundaries, "
          "got {}",
          boundaries.size(), values.size());
  require(std::ranges::is_sorted(boundaries, std::ranges::less_equal{}),
          "the boundaries of PiecewiseConstantDecay must increase");
  return PiecewiseConstantRate{{std::move(boundaries), std::move(values)}};
}

LearningRateSchedule PolynomialDecay(const PolynomialDecayOptions& options) {
  check_steps("PolynomialDecay", options.decay_steps);
  return PolynomialRate{options};
}

LearningRateSchedule CosineDecay(const CosineDecayOptions& options) {
  check_steps("CosineDecay", options.decay_steps);
  require(options.warmup_steps >= 0, "CosineDecay cannot warm up for {} steps", options.warmup_steps);
  return CosineRate{options};
}

LearningRateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& options) {
  check_steps("CosineDecayRestarts", options.first_decay_steps);
  require(options.t_mul >= 1, "the periods of CosineDecayRestarts cannot become shorter: t_mul is {}", options.t_mul);
  return CosineRestartsRate{options};
}

std::optional<ObjectConfig> schedule_config(const LearningRate& rate) {
  for (const KnownSchedule& schedule : known_schedules)
    if (auto config = schedule.config(schedule.class_name, rate.schedule())) return config;
  return {};
}

LearningRateSchedule schedule_from_config(const ObjectConfig& config) {
  std::vector<std::string_view> names;
  for (const KnownSchedule& schedule : known_schedules) {
    names.emplace_back(schedule.class_name);
    if (config.class_name != schedule.class_name) continue;
    OptionVisitor visitor("the schedule " + config.class_name, *config.options);
    return schedule.read(visitor);
  }
  fail<InputError>("the learning rate's schedule is of class {}; known are {}", config.class_name,
                   fmt::join(names, ", "));
}

}  // namespace lockstep
