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
/// The sizes of a tensor. Throws InvalidArgument for more than Shape::max_rank axes.
Shape shape_of(const torch::Tensor& tensor);
/// lockstep's name of a dtype; nothing for those that it does not have.
std::optional<DType> dtype_of(torch::ScalarType type);

}  // namespace lockstep::libtorch
