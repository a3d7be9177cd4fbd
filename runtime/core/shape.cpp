#include "lockstep/runtime/core/shape.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

Shape::Shape(std::span<const std::int64_t> dims) {
  require(dims.size() <= max_rank, "a shape has at most {} dimensions, got {}", max_rank, dims.size());
  rank_ = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

void Shape::push_back(std::int64_t dim) {
  require(rank_ < max_rank, "a shape has at most {} dimensions", max_rank);
  dims_[rank_++] = dim;
}

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : *this) {
    if (dim < 0) fail("shape {} has a negative size", *this);
    if (__builtin_mul_overflow(count, dim, &count)) fail("shape {} has more than 2^63 - 1 elements", *this);
  }
  return count;
}

int Shape::normalize_axis(int axis) const {
  require(axis >= -rank_ && axis < rank_, "axis {} is out of range for rank {}", axis, rank_);
  return axis < 0 ? axis + rank_ : axis;
}

Shape Shape::dense_strides() const {
  Shape strides = *this;
  std::uint64_t stride = 1;  // unsigned: the strides of an empty tensor may exceed 64 bits, and are not used
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    strides.dims_[axis] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(dims_[axis]);
  }
  return strides;
}

std::string Shape::text() const { return fmt::format("({})", fmt::join(begin(), end(), ", ")); }

bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace lockstep

auto fmt::formatter<lockstep::Shape>::format(const lockstep::Shape& shape, fmt::format_context& context) const
    -> fmt::format_context::iterator {
  return fmt::formatter<fmt::string_view>::format(shape.text(), context);
}
