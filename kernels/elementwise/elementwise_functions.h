#pragma once

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

}  // namespace functor

/// Calls visit with the functor of a unary op.
template <class Visit>
void visit_unary(const UnaryFunction& function, Visit&& visit) {
  switch (function.op) {
    case UnaryOp::negative:
      return visit(functor::Negative{});
    case UnaryOp::exp:
      return visit(functor::Exp{});
    case UnaryOp::log:
      return visit(functor::Log{});
    case UnaryOp::sqrt:
      return visit(functor::Sqrt{});
    case UnaryOp::square:
      return visit(functor::Square{});
    case UnaryOp::abs:
      return visit(functor::Abs{});
    case UnaryOp::maximum:
      return visit(functor::Maximum{function.alpha});
    case UnaryOp::minimum:
      return visit(functor::Minimum{function.alpha});
    case UnaryOp::clip:
      return visit(functor::Clip{function.alpha, function.beta});
    case UnaryOp::power:
      return visit(functor::PowerOf{function.alpha});
    case UnaryOp::divided:
      return visit(functor::Divided{function.alpha});
    case UnaryOp::rsqrt:
      return visit(functor::Rsqrt{});
    case UnaryOp::log1p:
      return visit(functor::Log1p{});
    case UnaryOp::expm1:
      return visit(functor::Expm1{});
    case UnaryOp::log2:
      return visit(functor::Log2{});
    case UnaryOp::log10:
      return visit(functor::Log10{});
    case UnaryOp::erf:
      return visit(functor::Erf{});
    case UnaryOp::sin:
      return visit(functor::Sin{});
    case UnaryOp::cos:
      return visit(functor::Cos{});
    case UnaryOp::sign:
      return visit(functor::Sign{});
    case UnaryOp::floor:
      return visit(functor::Floor{});
    case UnaryOp::ceil:
      return visit(functor::Ceil{});
    case UnaryOp::round:
      return visit(functor::Round{});
    case UnaryOp::relu:
      return visit(functor::Relu{});
    case UnaryOp::relu6:
      return visit(functor::Relu6{});
    case UnaryOp::leaky_relu:
      return visit(functor::LeakyRelu{function.alpha});
    case UnaryOp::elu:
      return visit(functor::Elu{function.alpha});
    case UnaryOp::selu:
      return visit(functor::Selu{});
    case UnaryOp::gelu:
      return visit(functor::Gelu{});
    case UnaryOp::gelu_tanh:
      return visit(functor::GeluTanh{});
    case UnaryOp::sigmoid:
      return visit(functor::Sigmoid{});
    case UnaryOp::hard_sigmoid:
      return visit(functor::HardSigmoid{function.alpha});
    case UnaryOp::silu:
      return visit(functor::Silu{});
    case UnaryOp::hard_silu:
      return visit(functor::HardSilu{});
    case UnaryOp::mish:
      return visit(functor::Mish{});
    case UnaryOp::softplus:
      return visit(functor::Softplus{});
    case UnaryOp::log_sigmoid:
      return visit(functor::LogSigmoid{});
    case UnaryOp::squareplus:
      return visit(functor::Squareplus{});
    case UnaryOp::sparse_plus:
      return visit(functor::SparsePlus{});
    case UnaryOp::hard_tanh:
      return visit(functor::HardTanh{});
    case UnaryOp::hard_shrink:
      return visit(functor::HardShrink{function.alpha});
    case UnaryOp::soft_shrink:
      return visit(functor::SoftShrink{function.alpha});
    case UnaryOp::tanh_shrink:
      return visit(functor::TanhShrink{});
    case UnaryOp::softsign:
      return visit(functor::Softsign{});
    case UnaryOp::tanh:
      return visit(functor::Tanh{});
  }
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
