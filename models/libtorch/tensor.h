#pragma once

#include <optional>

#include <torch/types.h>

#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/core/shape.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::libtorch {

/// A libtorch tensor with the same elements, dtype, shape and strides, which shares the memory and keeps it alive.
/// Precondition: `tensor` is in host memory.
torch::Tensor as_torch(const Tensor& tensor);
/// A dense host tensor with a copy of the elements, for Strategy::reduce or gather:
/// `strategy.reduce(ReduceOp::sum, losses.transform(libtorch::from_torch))`. Throws Unsupported for dtypes that
/// lockstep does not have. Also throws whatever shape_of throws.
Tensor from_torch(const torch::Tensor& tensor);
/// The sizes of a tensor. Throws InvalidArgument for more than Shape::max_rank axes.
Shape shape_of(const torch::Tensor& tensor);
/// Converts a libtorch dtype to lockstep's; returns nothing if lockstep does not have the dtype.
std::optional<DType> dtype_of(torch::ScalarType type);

}  // namespace lockstep::libtorch
