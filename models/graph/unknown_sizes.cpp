#include "lockstep/models/graph/unknown_sizes.h"

#include <algorithm>

namespace lockstep {
namespace {

// Larger than most windows, and multiples of the strides from 1 to 8 and of many larger ones.
constexpr std::array<std::int64_t, 2> example_sizes{6720, 13440};
// Small, so that weights that depend on the size take little memory until the network rejects the layer.
constexpr std::int64_t built_size = 256;

/// The shape with `size` in place of -1.
Shape with_size(Shape shape, std::int64_t size) {
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == -1) shape[axis] = size;
  return shape;
}

}  // namespace

bool is_known(const Shape& shape) { return std::ranges::find(shape, -1) == shape.end(); }

ShapeExamples examples_of(const Shape& shape) {
  return {with_size(shape, example_sizes[0]), with_size(shape, example_sizes[1])};
}

Shape shape_to_build(const Shape& shape) { return with_size(shape, built_size); }

Shape common_shape(const ShapeExamples& examples) {
  Shape shape = examples[0];
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (examples[1][axis] != shape[axis]) shape[axis] = -1;
  return shape;
}

bool fits(const Shape& shape, const Shape& declared) {
  return std::equal(shape.begin(), shape.end(), declared.begin(), declared.end(),
                    [](std::int64_t size, std::int64_t wanted) { return wanted == -1 || size == wanted; });
}

}  // namespace lockstep
