#pragma once

#include <cmath>

#include <lockstep/kernels/update/moments.h>
#include <lockstep/kernels/update/rule_on_gpus.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/runtime/core/host_device.h>

// Functors for element_rule (element_rule.h). The formulas and the order of operations are the same as in
// keras.optimizers of Keras 3.

namespace lockstep {

struct SgdRule {
  static constexpr int slots = 0;
  explicit SgdRule(const SgdStep& step) : learning_rate(step.learning_rate) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient) const { return w - learning_rate * gradient; }

  float learning_rate;
};

struct MomentumRule {
  static constexpr int slots = 1;
  explicit MomentumRule(const SgdStep& step) : s(step) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& velocity) const {
    const float step = gradient * s.learning_rate;
    velocity = velocity * s.momentum - step;
    return w + (s.nesterov ? velocity * s.momentum - step : velocity);
  }

  SgdStep s;
};

struct AdamRule {
  static constexpr int slots = 2;
  explicit AdamRule(const AdamStep& step)
      : alpha(static_cast<float>(step.learning_rate * std::sqrt(1.0 - std::pow(step.beta_2, step.t)) /
                                 (1.0 - std::pow(step.beta_1, step.t)))),
        epsilon(step.epsilon),
        moments(step.beta_1, step.beta_2) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& m, float& v) const {
    moments.add(gradient, m, v);
    return w - m * alpha / (std::sqrt(v) + epsilon);
  }

  float alpha;  ///< the learning rate with the bias correction
  float epsilon;
  Moments moments;
};

struct AmsgradRule {
  static constexpr int slots = 3;
  explicit AmsgradRule(const AdamStep& step) : adam(step) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& m, float& v, float& largest) const {
    adam.moments.add(gradient, m, v);
    largest = largest > v ? largest : v;
    return w - m * adam.alpha / (std::sqrt(largest) + adam.epsilon);
  }

  AdamRule adam;
};

/// The direction of LAMB; does not depend on the parameter.
struct LambDirectionRule {
  static constexpr int slots = 2;
  explicit LambDirectionRule(const LambDirectionStep& step)
      : correction_1(static_cast<float>(1.0 - std::pow(step.beta_1, step.t))),
        correction_2(static_cast<float>(1.0 - std::pow(step.beta_2, step.t))),
        epsilon(step.epsilon),
        moments(step.beta_1, step.beta_2) {}

  LOCKSTEP_HOST_DEVICE float operator()(float, float gradient, float& m, float& v) const {
    moments.add(gradient, m, v);
    return m / correction_1 / (std::sqrt(v / correction_2) + epsilon);
  }

  float correction_1;
  float correction_2;
  float epsilon;
  Moments moments;
};

/// Computes the scaled gradient for all variants of RMSprop.
struct RmspropScale {
  explicit RmspropScale(const RmspropStep& step)
      : learning_rate(step.learning_rate),
        rho(static_cast<float>(step.rho)),
        rest(static_cast<float>(1 - step.rho)),
        epsilon(step.epsilon) {}

  LOCKSTEP_HOST_DEVICE float plain(float gradient, float& v) const {
    v = rho * v + rest * (gradient * gradient);
    return learning_rate * gradient / std::sqrt(v + epsilon);
  }
  LOCKSTEP_HOST_DEVICE float centered(float gradient, float& v, float& average) const {
    v = rho * v + rest * (gradient * gradient);
    average = rho * average + rest * gradient;
    return learning_rate * gradient / std::sqrt(v - average * average + epsilon);
  }

  float learning_rate;
  float rho;
  float rest;  ///< 1 - rho
  float epsilon;
};

struct RmspropRule {
  static constexpr int slots = 1;
  explicit RmspropRule(const RmspropStep& step) : scale(step) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& v) const {
    return w - scale.plain(gradient, v);
  }

  RmspropScale scale;
};

struct CenteredRmspropRule {
  static constexpr int slots = 2;
  explicit CenteredRmspropRule(const RmspropStep& step) : scale(step) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& v, float& average) const {
    return w - scale.centered(gradient, v, average);
  }

  RmspropScale scale;
};

struct RmspropMomentumRule {
  static constexpr int slots = 2;
  explicit RmspropMomentumRule(const RmspropStep& step) : scale(step), momentum(step.momentum) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& v, float& moved) const {
    moved = momentum * moved + scale.plain(gradient, v);
    return w - moved;
  }

  RmspropScale scale;
  float momentum;
};

struct CenteredRmspropMomentumRule {
  static constexpr int slots = 3;
  explicit CenteredRmspropMomentumRule(const RmspropStep& step) : scale(step), momentum(step.momentum) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& v, float& moved, float& average) const {
    moved = momentum * moved + scale.centered(gradient, v, average);
    return w - moved;
  }

  RmspropScale scale;
  float momentum;
};

struct AdagradRule {
  static constexpr int slots = 1;
  explicit AdagradRule(const AdagradStep& step) : s(step) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& accumulated) const {
    accumulated = accumulated + gradient * gradient;
    return w - s.learning_rate * gradient / std::sqrt(accumulated + s.epsilon);
  }

  AdagradStep s;
};

/// w = g: assigns values that were computed elsewhere.
struct AssignRule {
  static constexpr int slots = 0;

  LOCKSTEP_HOST_DEVICE float operator()(float, float value) const { return value; }
};

LOCKSTEP_RULE_ON_GPUS(SgdRule)
LOCKSTEP_RULE_ON_GPUS(MomentumRule)
LOCKSTEP_RULE_ON_GPUS(AdamRule)
LOCKSTEP_RULE_ON_GPUS(AmsgradRule)
LOCKSTEP_RULE_ON_GPUS(LambDirectionRule)
LOCKSTEP_RULE_ON_GPUS(RmspropRule)
LOCKSTEP_RULE_ON_GPUS(CenteredRmspropRule)
LOCKSTEP_RULE_ON_GPUS(RmspropMomentumRule)
LOCKSTEP_RULE_ON_GPUS(CenteredRmspropMomentumRule)
LOCKSTEP_RULE_ON_GPUS(AdagradRule)
LOCKSTEP_RULE_ON_GPUS(AssignRule)

}  // namespace lockstep
