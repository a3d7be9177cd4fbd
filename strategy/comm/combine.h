#pragma once

#include <span>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Combines the replicas' values elementwise, in replica order, into a new tensor. Call it on one thread while no
/// replica runs; replicas use `ReplicaContext::all_reduce`. Throws InvalidArgument if a value is undefined or strided,
/// if the values differ in shape or dtype, and if the op does not support the dtype (check_reducible). Precondition: at
/// least one value.
Tensor combine(ReduceOp op, std::span<const Tensor> values);

/// Whether tensors of these shapes can be concatenated along `axis`, which must not be negative.
bool joinable(const Shape& a, const Shape& b, int axis);

/// Concatenates the values along `axis` (negative: from the end) into a new tensor. Throws InvalidArgument for scalars,
/// for an axis out of range, and for values that differ in dtype, rank or the size of another axis (the message lists
/// all values).
Tensor gather_values(std::span<const Tensor> values, int axis);

}  // namespace lockstep
