#pragma once

#include <bitset>

#include <lockstep/kernels/reduction/reduce_op.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Axes of a shape, by number from the front.
using AxisSet = std::bitset<Shape::max_rank>;

/// y = sum of x over `axes`. y is dense and has x's other axes in order; axes of size 1 may be left out of y or added
/// to it. Neighboring axes are summed together in one pass, the last ones first. Records nothing on tapes.
void sum_axes(const Tensor& x, AxisSet axes, const Tensor& y);

/// Like sum_axes, but reduces x by `op` (sum, prod, max or min). If x is f32 or bf16, y is f32 or bf16; otherwise y has
/// x's dtype.
void reduce_axes(ReduceOp op, const Tensor& x, AxisSet axes, const Tensor& y);

/// y = sum of x over the axes along which y's shape broadcasts to x's shape. Records nothing on tapes.
void sum_to_shape(const Tensor& x, const Tensor& y);

}  // namespace lockstep
