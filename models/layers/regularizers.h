#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Keras' penalties on weights, for options of layers such as `kernel_regularizer`.

namespace lockstep {

/// A penalty on a weight that is added to the loss: l1 * sum(|w|) + l2 * sum(w^2). No penalty where both are 0.
class Regularizer {
 public:
  Regularizer() = default;
  /// Throws InvalidArgument for a negative factor.
  Regularizer(double l1, double l2);

  ///@{
  /// The factors.
  double l1() const { return l1_; }
  double l2() const { return l2_; }
  ///@}
  /// Whether there is a penalty.
  explicit operator bool() const { return l1_ != 0 || l2_ != 0; }
  /// A differentiable scalar. Precondition: there is a penalty.
  Tensor operator()(const Tensor& weight) const;

  /// Of equal factors.
  friend bool operator==(const Regularizer& a, const Regularizer& b) = default;

 private:
  double l1_ = 0;
  double l2_ = 0;
};

// They throw InvalidArgument for a negative factor.

/// l1 * sum(|w|).
inline Regularizer L1(double l1 = 0.01) { return {l1, 0}; }
/// l2 * sum(w^2).
inline Regularizer L2(double l2 = 0.01) { return {0, l2}; }
/// l1 * sum(|w|) + l2 * sum(w^2).
inline Regularizer L1L2(double l1 = 0, double l2 = 0) { return {l1, l2}; }

}  // namespace lockstep
