#pragma once

#include <cmath>
#include <type_traits>

#include <lockstep/kernels/elementwise/activation_functions.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/math.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/runtime/core/bfloat16.h>

// The arithmetic of the element-wise ops, for one element.

namespace lockstep {

/// A namespace of its own, since layers have some of the same names.
namespace functor {

// f(x), and dx from dy and one more value: f(x) if `from_result`, else x.

struct Negative {
  static constexpr bool from_result = true;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return -x; }
  LOCKSTEP_HOST_DEVICE float gradient(float, float dy) const { return -dy; }
};
struct Exp {
  static constexpr bool from_result = true;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return exp_f32(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return dy * y; }
};
struct Log {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy / x; }
};
struct Sqrt {
  static constexpr bool from_result = true;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::sqrt(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return 0.5F * dy / y; }
};
struct Square {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x * x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return 2.0F * x * dy; }
};

struct Abs {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::fabs(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x > 0.0F ? dy : x < 0.0F ? -dy : 0.0F; }
};

// NaN stays NaN.
struct Maximum {
  static constexpr bool from_result = false;
  float lowest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < lowest ? lowest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x < lowest ? 0.0F : dy; }
};
struct Minimum {
  static constexpr bool from_result = false;
  float highest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > highest ? highest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x > highest ? 0.0F : dy; }
};

struct Add {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};
struct Subtract {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return a - b; }
};
struct Multiply {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return a * b; }
};
struct Divide {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return a / b; }
};

// Of equals the first; NaN if one of them is NaN.
struct Larger {
  LOCKSTEP_HOST_DEVICE bool takes_first(float a, float b) const { return a >= b || a != a; }
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return takes_first(a, b) ? a : b; }
};
struct Smaller {
  LOCKSTEP_HOST_DEVICE bool takes_first(float a, float b) const { return a <= b || a != a; }
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return takes_first(a, b) ? a : b; }
};
/// The gradient of Larger or Smaller with respect to one operand.
template <class F>
struct ChoiceGradient {
  F f;
  bool of_first;
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b, float dy) const {
    return f.takes_first(a, b) == of_first ? dy : 0.0F;
  }
};

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
/// sum + x, or with `subtract` sum - x; bf16 is added in f32.
template <class T>
struct Accumulate {
  using Sum = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  bool subtract;
  LOCKSTEP_HOST_DEVICE T operator()(T sum, T x) const {
    const auto term = static_cast<Sum>(x);
    return T(static_cast<Sum>(sum) + (subtract ? static_cast<Sum>(-term) : term));
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

/// Calls visit with the functor of a binary op.
template <class Visit>
void visit_binary(BinaryOp op, Visit&& visit) {
  switch (op) {
    case BinaryOp::add:
      return visit(functor::Add{});
    case BinaryOp::subtract:
      return visit(functor::Subtract{});
    case BinaryOp::multiply:
      return visit(functor::Multiply{});
    case BinaryOp::divide:
      return visit(functor::Divide{});
    case BinaryOp::maximum:
      return visit(functor::Larger{});
    case BinaryOp::minimum:
      return visit(functor::Smaller{});
  }
}

/// Calls visit with the functor of the gradient of maximum or minimum with respect to an operand.
template <class Visit>
void visit_choice_gradient(BinaryOp op, bool of_first, Visit&& visit) {
  if (op == BinaryOp::maximum)
    visit(functor::ChoiceGradient<functor::Larger>{{}, of_first});
  else
    visit(functor::ChoiceGradient<functor::Smaller>{{}, of_first});
}

/// Converts an element to another type: bf16 via f32, real numbers to integers by truncation.
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
