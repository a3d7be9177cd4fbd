#pragma once

#include <cmath>

#include <lockstep/kernels/elementwise/math.h>

// Softmax of one element of a row, binary cross-entropy of one element, and their gradients.

namespace lockstep {

/// The values of a row from which each element's softmax is computed.
struct RowSoftmax {
  float largest = 0;
  double sum = 0;  ///< sum of exp(x - largest)

  LOCKSTEP_HOST_DEVICE float exponential(float x) const { return exp_f32(x - largest); }
  /// The factor by which `exponential` is multiplied to get the probability.
  LOCKSTEP_HOST_DEVICE float scale() const { return static_cast<float>(1.0 / sum); }
  LOCKSTEP_HOST_DEVICE float log_sum() const { return static_cast<float>(std::log(sum)); }
  LOCKSTEP_HOST_DEVICE float log_probability(float x, float log_of_sum) const { return (x - largest) - log_of_sum; }
  /// The cross-entropy of the row; x is the logit of the row's label.
  LOCKSTEP_HOST_DEVICE float loss(float x) const {
    return static_cast<float>(std::log(sum) - (static_cast<double>(x) - static_cast<double>(largest)));
  }
};

/// The gradient of softmax with respect to a logit; `dot` is the sum of dy * y over the row.
LOCKSTEP_HOST_DEVICE inline float softmax_gradient_of(float y, float dy, float dot) { return y * (dy - dot); }
/// The gradient of log_softmax with respect to a logit; `sum` is the sum of dy over the row.
LOCKSTEP_HOST_DEVICE inline float log_softmax_gradient_of(float y, float dy, float sum) {
  return dy - exp_f32(y) * sum;
}
/// The gradient of a row's cross-entropy with respect to one of its logits.
LOCKSTEP_HOST_DEVICE inline float cross_entropy_gradient(float probability, bool is_label, float dloss) {
  return dloss * (is_label ? probability - 1.0F : probability);
}

struct BinaryCrossEntropyFromLogits {
  /// max(x, 0) - x t + log(1 + exp(-|x|)), which does not overflow for any x.
  LOCKSTEP_HOST_DEVICE float operator()(float x, float target) const {
    return (x > 0.0F ? x : 0.0F) - x * target + std::log1p(exp_f32(-std::fabs(x)));
  }
  /// (sigmoid(x) - t) * dloss. Avoids the subtraction of two numbers near 1, which would lose digits.
  LOCKSTEP_HOST_DEVICE float gradient(float x, float target, float dloss) const {
    const float smaller = sigmoid_f32(-std::fabs(x));
    return dloss * (x > 0.0F ? (1.0F - target) - smaller : smaller - target);
  }
};

/// Binary cross-entropy of a probability, as defined in Keras 3: probabilities are clipped to [1e-7, 1 - 1e-7]; the
/// gradient of clipped probabilities is 0.
struct BinaryCrossEntropyFromProbabilities {
  static constexpr float lowest = 1e-7F;
  static constexpr float highest = 1.0F - 1e-7F;

  LOCKSTEP_HOST_DEVICE float operator()(float x, float target) const {
    const float p = x < lowest ? lowest : x > highest ? highest : x;
    return -(target * std::log(p) + (1.0F - target) * std::log(1.0F - p));
  }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float target, float dloss) const {
    const bool clipped = x < lowest || x > highest;
    return clipped ? 0.0F : dloss * (x - target) / (x * (1.0F - x));
  }
};

}  // namespace lockstep
