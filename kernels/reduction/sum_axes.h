#pragma once

#include <bitset>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Axes of a shape, by number from the front.
using AxisSet = std::bitset<Shape::max_rank>;

/// y = sum of x over `axes`; y is dense and holds x's other axes in order (axes of size 1 may be there or not). Records
/// nothing. Each run of neighboring axes is summed in one go, the last run first.
void sum_axes(const Tensor& x, AxisSet axes, const Tensor& y);

/// y = sum of x over the axes along which y's shape had been broadcast to x's. Records nothing.
void sum_to_shape(const Tensor& x, const Tensor& y);

}  // namespace lockstep
