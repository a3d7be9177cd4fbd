#pragma once

#include <cmath>

#include <lockstep/kernels/update.h>
#include <lockstep/runtime/core/host_device.h>

// One element of an optimizer's step: the new parameter from the old one and the reduced gradient; state in place.
// Formulas and order of operations of keras.optimizers.SGD and Adam in Keras 3.

namespace lockstep {

/// One state slot when the momentum is not 0: the velocity.
struct SgdRule {
  explicit SgdRule(const SgdStep& step) : s(step) {}

  LOCKSTEP_HOST_DEVICE float decayed(float w) const {
    return s.weight_decay != 0.0F ? w - w * s.weight_decay * s.learning_rate : w;
  }
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient) const {
    return decayed(w) - s.learning_rate * gradient;
  }
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& velocity) const {
    const float step = gradient * s.learning_rate;
    velocity = velocity * s.momentum - step;
    return decayed(w) + (s.nesterov ? velocity * s.momentum - step : velocity);
  }

  SgdStep s;
};

struct AdamRule {
  explicit AdamRule(const AdamStep& step)
      : alpha(static_cast<float>(step.learning_rate * std::sqrt(1.0 - std::pow(step.beta_2, step.t)) /
                                 (1.0 - std::pow(step.beta_1, step.t)))),
        rest_1(static_cast<float>(1.0 - step.beta_1)),
        rest_2(static_cast<float>(1.0 - step.beta_2)),
        epsilon(step.epsilon) {}

  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& m, float& v) const {
    m = m + (gradient - m) * rest_1;
    v = v + (gradient * gradient - v) * rest_2;
    return w - m * alpha / (std::sqrt(v) + epsilon);
  }

  float alpha;   ///< the learning rate with the bias correction
  float rest_1;  ///< 1 - beta_1
  float rest_2;  ///< 1 - beta_2
  float epsilon;
};

}  // namespace lockstep
