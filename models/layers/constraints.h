#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Keras' constraints on weights, for options of layers such as `kernel_constraint`.

namespace lockstep {

/// The axes of a weight over which a norm sums, in Keras an int or a list: 0 gives one norm per unit of a Dense, {0, 1,
/// 2} one norm per filter of a Conv2D. Negative axes count from the end.
struct NormAxes {
  ///@{
  /// One axis, or several.
  NormAxes(int axis) : numbers{axis} {}                         // NOLINT: implicit
  NormAxes(std::initializer_list<int> axes) : numbers(axes) {}  // NOLINT: implicit
  explicit NormAxes(std::vector<int> axes) : numbers(std::move(axes)) {}
  ///@}

  std::vector<int> numbers;  ///< the axes, which may be negative
};

/// MinMaxNorm's options, with Keras' names.
struct MinMaxNormOptions {
  double min_value = 0;  ///< lower limit of the norms
  double max_value = 1;  ///< upper limit of the norms
  double rate = 1;       ///< in [0, 1]: each step removes this share of a norm's distance to the limits
  NormAxes axis = 0;     ///< the axes that a norm sums over
};

/// A constraint that is applied to a weight after each step of an optimizer. By default, no constraint.
class Constraint {
 public:
  /// Keras' classes, and `none` for no constraint.
  enum class Kind { none, max_norm, min_max_norm, non_neg, unit_norm };

  Constraint() = default;
  /// Used by MaxNorm() and the other functions below. Throws InvalidArgument unless 0 <= min_value <= max_value and 0
  /// <= rate <= 1.
  Constraint(Kind kind, MinMaxNormOptions options);

  /// Which constraint this is; none if there is no constraint.
  Kind kind() const { return kind_; }
  /// The options of the equivalent MinMaxNorm. Meaningless for kinds that do not limit norms (none, non_neg).
  const MinMaxNormOptions& options() const { return options_; }
  /// Whether this is a constraint: kind() is not none.
  explicit operator bool() const { return kind_ != Kind::none; }

  /// Throws InvalidArgument, naming the weight, if `shape` does not have the axes of the norms.
  void check(const std::string& weight, const Shape& shape) const;
  /// Applies the constraint to a dense f32 weight in place. Precondition: kind() is not none. Throws InvalidArgument if
  /// the weight does not have the axes of the norms.
  void operator()(const Tensor& weight) const;

 private:
  Kind kind_ = Kind::none;
  MinMaxNormOptions options_;
};

/// Limits norms to max_value. Throws InvalidArgument for a negative max_value.
inline Constraint MaxNorm(double max_value = 2, const NormAxes& axis = 0) {
  return {Constraint::Kind::max_norm, {.max_value = max_value, .axis = axis}};
}
/// Moves norms towards [min_value, max_value]: each step removes the share `rate` of a norm's distance to the interval.
/// Throws InvalidArgument unless 0 <= min_value <= max_value and 0 <= rate <= 1.
inline Constraint MinMaxNorm(const MinMaxNormOptions& options = {}) {
  return {Constraint::Kind::min_max_norm, options};
}
/// Sets negative elements to 0.
inline Constraint NonNeg() { return {Constraint::Kind::non_neg, {}}; }
/// Scales norms to 1; norms of 0 stay 0.
inline Constraint UnitNorm(const NormAxes& axis = 0) {
  return {Constraint::Kind::unit_norm, {.min_value = 1, .axis = axis}};
}

}  // namespace lockstep
