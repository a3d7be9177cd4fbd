#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <fmt/core.h>

namespace lockstep {

/// Sizes (or strides, in elements) of up to `max_rank` dimensions, stored without heap memory.
class Shape {
 public:
  /// Maximum number of dimensions.
  static constexpr int max_rank = 8;

  Shape() = default;
  /// Throws InvalidArgument for more than `max_rank` dimensions.
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  /// Throws InvalidArgument for more than `max_rank` dimensions.
  explicit Shape(std::span<const std::int64_t> dims);

  /// Number of dimensions.
  int rank() const { return rank_; }
  /// Dimension `axis`; a negative axis counts from the end. Throws InvalidArgument when out of range.
  std::int64_t dim(int axis) const { return dims_[normalize_axis(axis)]; }
  ///@{
  /// Dimension `axis`, unchecked. Precondition: 0 <= axis < rank().
  std::int64_t operator[](int axis) const { return dims_[axis]; }
  std::int64_t& operator[](int axis) { return dims_[axis]; }
  ///@}
  ///@{
  /// Iterate over the dimensions in order.
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  ///@}
  /// Appends a dimension. Throws InvalidArgument when there are already `max_rank`.
  void push_back(std::int64_t dim);

  /// Number of elements; 1 for rank 0. Throws InvalidArgument on a negative size or when the product overflows.
  std::int64_t elements() const;
  /// Converts `axis`, which counts from the end if negative, to an index in [0, rank()). Throws InvalidArgument when
  /// out of range.
  int normalize_axis(int axis) const;
  /// Strides, in elements, of a dense row-major tensor of this shape.
  Shape dense_strides() const;
  /// The dimensions as text, e.g. "(2, 32, 32, 3)".
  std::string text() const;

  /// Whether rank and all dimensions are equal.
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  int rank_ = 0;
  std::array<std::int64_t, max_rank> dims_{};
};

}  // namespace lockstep

/// @cond
template <>
struct fmt::formatter<lockstep::Shape> : fmt::formatter<fmt::string_view> {
  auto format(const lockstep::Shape& shape, fmt::format_context& context) const -> fmt::format_context::iterator;
};
/// @endcond
