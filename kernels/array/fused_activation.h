#pragma once

#include <optional>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/runtime/tensor/tensor.h>

// Activations that an op applies to its result in the same pass.

namespace lockstep {

/// Whether the backends' dense and conv2d can apply it: an element-wise function whose gradient follows from its
/// result.
bool is_fusable(Activation activation);

/// The element-wise function of an activation, if it is one.
std::optional<UnaryFunction> function_of(Activation activation);

/// The gradient of what went into a fusable activation, dense, from its result y (not read if linear) and dy.
Tensor before_activation(Activation activation, const Tensor& y, const Tensor& dy);

}  // namespace lockstep
