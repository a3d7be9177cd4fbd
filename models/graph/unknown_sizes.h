#pragma once

#include <array>

#include <lockstep/runtime/core/shape.h>

// Sizes that differ between batches, such as the length of sentences or the height and width of images: None in Keras,
// -1 in shapes here. The shapes of layers' results are computed for two sets of example sizes; a size that differs
// between the two results is unknown, too. Layers are built for a third, smaller size. If a layer then accepts both
// sets of example sizes, its weights do not depend on unknown sizes.

namespace lockstep {

/// A shape without the batch axis, for each of the two sets of example sizes.
using ShapeExamples = std::array<Shape, 2>;

/// Whether the shape has no unknown size.
bool is_known(const Shape& shape);
/// The shape with example sizes in place of -1.
ShapeExamples examples_of(const Shape& shape);
/// The shape for which layers are built: a fixed size replaces each -1.
Shape shape_to_build(const Shape& shape);
/// The shape with these examples: -1 where they differ. Precondition: the examples have the same rank.
Shape common_shape(const ShapeExamples& examples);
/// Whether `shape` has the rank of `declared` and, along each axis, the size of `declared` if that is known.
bool fits(const Shape& shape, const Shape& declared);

}  // namespace lockstep
