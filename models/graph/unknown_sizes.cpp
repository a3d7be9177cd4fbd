#include "lockstep/models/graph/unknown_sizes.h"

#include <algorithm>

namespace lockstep {
namespace {

// Images of these sizes pass the smallest convolutions of all models of keras.applications, and can be halved often.
constexpr std::array<std::int64_t, 2> example_sizes{256, 320};

}  // namespace

bool is_known(const Shape& shape) { return std::ranges::find(shape, -1) == shape.end(); }

ShapeExamples examples_of(const Shape& shape) {
  ShapeExamples examples{shape, shape};
  for (std::size_t i = 0; i < examples.size(); ++i)
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] == -1) examples[i][axis] = example_sizes[i];
  return examples;
}

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
