#pragma once

#include <tuple>
#include <type_traits>

#include <lockstep/kernels/elementwise/activation_functions.h>
#include <lockstep/kernels/elementwise/math_functions.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/runtime/core/bfloat16.h>
#include <lockstep/runtime/core/host_device.h>

// The arithmetic of the element-wise ops, for one element.

namespace lockstep {

/// A separate namespace, because some layers have the same names.
namespace functor {

struct Affine {
  float scale, shift;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x * scale + shift; }
};
struct MovingAverage {
  float momentum;
  LOCKSTEP_HOST_DEVICE float operator()(float average, float value) const {
    return average * momentum + value * (1.0F - momentum);
  }
};

/// The functors of the unary ops, in the order of UnaryOp.
using OfUnaryOps =
    std::tuple<Negative, Exp, Log, Sqrt, Square, Abs, Maximum, Minimum, Clip, PowerOf, Divided, Rsqrt, Log1p, Expm1,
               Log2, Log10, Erf, Sin, Cos, Tan, Arcsin, Arccos, Arctan, Sinh, Cosh, Arcsinh, Arccosh, Arctanh, Sign,
               Floor, Ceil, Trunc, Round, Relu, Relu6, LeakyRelu, Elu, Celu, Selu, Gelu, GeluTanh, Sigmoid, HardSigmoid,
               Silu, Softplus, Softsign, Tanh, HardSilu, Mish, LogSigmoid, Squareplus, SparsePlus, HardTanh, HardShrink,
               SoftShrink, TanhShrink>;
static_assert(std::tuple_size_v<OfUnaryOps> == static_cast<int>(UnaryOp::tanh_shrink) + 1);

}  // namespace functor

/// Calls visit with the functor of `function.op`. The functor's members, if any, are set to function.alpha and
/// function.beta.
template <class Visit>
void visit_unary(const UnaryFunction& function, Visit&& visit) {
  const auto visit_if = [&]<class F>(UnaryOp op, std::type_identity<F>) {
    if (op != function.op) return false;
    if constexpr (std::is_empty_v<F>)
      visit(F{});
    else if constexpr (sizeof(F) == sizeof(float))
      visit(F{function.alpha});
    else
      visit(F{function.alpha, function.beta});
    return true;
  };
  [&]<class... F>(std::type_identity<std::tuple<F...>>) {
    int op = 0;
    (visit_if(static_cast<UnaryOp>(op++), std::type_identity<F>()) || ...);
  }(std::type_identity<functor::OfUnaryOps>());
}

/// Converts an element to another type: bf16 via f32, real numbers to integers by truncation (unspecified for NaN and
/// values beyond the range of To).
template <class To, class From>
LOCKSTEP_HOST_DEVICE To convert_element(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, bfloat16>)
    return convert_element<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bfloat16>)
    return bfloat16(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

}  // namespace lockstep
