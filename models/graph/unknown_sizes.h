#pragma once

#include <array>

#include <lockstep/runtime/core/shape.h>

// Sizes that differ between batches, such as the length of sentences or the height and width of images: None in Keras,
// -1 in shapes here. The shapes of layers' results are computed for two sets of example sizes: sizes that differ
// between the two results are unknown, too. Layers are built for smaller sizes; a layer that then accepts both sets of
// example sizes has weights that do not depend on unknown sizes.

namespace lockstep {

/// A shape without the batch axis, for two sets of sizes in place of a model's unknown ones.
using ShapeExamples = std::array<Shape, 2>;

/// Whether the shape has no unknown size.
bool is_known(const Shape& shape);
/// The shape with example sizes in place of -1.
ShapeExamples examples_of(const Shape& shape);
/// The shape for which layers are built: a fixed size replaces each -1.
Shape shape_to_build(const Shape& shape);
/// The shape that has these examples: -1 where they differ. Precondition: they have the same rank.
Shape common_shape(const ShapeExamples& examples);
/// Whether `shape` has the rank and the known sizes of `declared`.
bool fits(const Shape& shape, const Shape& declared);

}  // namespace lockstep
