#pragma once

#include <variant>

#include <lockstep/kernels/elementwise/activation_functions.h>
#include <lockstep/kernels/elementwise/functor.h>
#include <lockstep/kernels/elementwise/math_functions.h>

namespace lockstep {

/// A functor of one element; std::visit calls a function with it.
using UnaryFunction = decltype(functor::any_of(functor::MathFunctions(), functor::ActivationFunctions()));

}  // namespace lockstep
