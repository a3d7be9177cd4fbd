#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Keras' constraints of weights, for options of layers such as `kernel_constraint`.

namespace lockstep {

/// The axes of a weight along which norms are taken, in Keras an int or a list: 0 for the inputs of each unit of a
/// Dense, {0, 1, 2} for the filters of a Conv2D. Negative ones count from the end.
struct NormAxes {
  ///@{
  /// One axis, or several.
  NormAxes(int axis) : numbers{axis} {}                         // NOLINT: implicit
  NormAxes(std::initializer_list<int> axes) : numbers(axes) {}  // NOLINT: implicit
  explicit NormAxes(std::vector<int> axes) : numbers(std::move(axes)) {}
  ///@}

  std::vector<int> numbers;  ///< as given
};

/// MinMaxNorm's arguments, by Keras' names.
struct MinMaxNormOptions {
  double min_value = 0;  ///< of the norms
  double max_value = 1;  ///< of the norms
  double rate = 1;       ///< fraction by which a step moves norms to their limit, in [0, 1]
  NormAxes axis = 0;     ///< along which norms are taken
};

/// The constraint of a weight after each step of an optimizer; by default there is none.
class Constraint {
 public:
  /// Keras' classes, and no constraint.
  enum class Kind { none, max_norm, min_max_norm, non_neg, unit_norm };

  Constraint() = default;
  /// Made by MaxNorm and the functions below. Throws InvalidArgument unless 0 <= min_value <= max_value and 0 <= rate
  /// <= 1.
  Constraint(Kind kind, MinMaxNormOptions options);

  /// Which of Keras' classes it is.
  Kind kind() const { return kind_; }
  /// The equivalent MinMaxNorm of a constraint of norms.
  const MinMaxNormOptions& options() const { return options_; }
  /// Whether there is a constraint.
  explicit operator bool() const { return kind_ != Kind::none; }

  /// Throws InvalidArgument, naming the weight, for one that does not have the axes of the norms.
  void check(const std::string& weight, const Shape& shape) const;
  /// Changes a weight, dense f32, in place. Precondition: there is a constraint. Throws InvalidArgument as `check`.
  void operator()(const Tensor& weight) const;

 private:
  Kind kind_ = Kind::none;
  MinMaxNormOptions options_;
};

/// Norms above max_value become max_value. Throws InvalidArgument for a negative one.
inline Constraint MaxNorm(double max_value = 2, const NormAxes& axis = 0) {
  return {Constraint::Kind::max_norm, {.max_value = max_value, .axis = axis}};
}
/// Norms go to [min_value, max_value]. Throws InvalidArgument unless 0 <= min_value <= max_value and 0 <= rate <= 1.
inline Constraint MinMaxNorm(const MinMaxNormOptions& options = {}) {
  return {Constraint::Kind::min_max_norm, options};
}
/// Negative elements become 0.
inline Constraint NonNeg() { return {Constraint::Kind::non_neg, {}}; }
/// Norms become 1; norms of 0 stay.
inline Constraint UnitNorm(const NormAxes& axis = 0) {
  return {Constraint::Kind::unit_norm, {.min_value = 1, .axis = axis}};
}

}  // namespace lockstep
