#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Keras' penalties on weights and on results, for options of layers such as `kernel_regularizer` and
// `activity_regularizer`.

namespace lockstep {

/// A penalty on a weight w that is added to the loss: l1 * sum(|w|) + l2 * sum(w^2). No penalty if both factors are 0.
class Regularizer {
 public:
  Regularizer() = default;
  /// Throws InvalidArgument for a factor that is negative or not finite.
  Regularizer(double l1, double l2);

  ///@{
  /// The factors.
  double l1() const { return l1_; }
  double l2() const { return l2_; }
  ///@}
  /// Whether there is a penalty: l1 or l2 is not 0.
  explicit operator bool() const { return l1_ != 0 || l2_ != 0; }
  /// The penalty of `weight`, a differentiable scalar. Precondition: l1 or l2 is not 0.
  Tensor operator()(const Tensor& weight) const;

  /// Whether a and b have the same factors.
  friend bool operator==(const Regularizer& a, const Regularizer& b) = default;

 private:
  double l1_ = 0;
  double l2_ = 0;
};

// L1, L2 and L1L2 throw InvalidArgument for a factor that is negative or not finite.

/// The penalty l1 * sum(|w|).
inline Regularizer L1(double l1 = 0.01) { return {l1, 0}; }
/// The penalty l2 * sum(w^2).
inline Regularizer L2(double l2 = 0.01) { return {0, l2}; }
/// The penalty l1 * sum(|w|) + l2 * sum(w^2).
inline Regularizer L1L2(double l1 = 0, double l2 = 0) { return {l1, l2}; }

}  // namespace lockstep
