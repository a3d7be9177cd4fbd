#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/executor/wrapping.h>
#include <lockstep/runtime/core/host_device.h>

// The arithmetic of the element-wise ops of two operands, for one element.

namespace lockstep {

namespace functor {

// Functions f(a, b) of two operands. Those that are templates also take integers, whose overflow wraps around.
// gradient(a, b, dy, of_first) is the gradient with respect to a if `of_first`, else with respect to b.

struct Add {
  template <class T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Subtract {
  template <class T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct Multiply {
  template <class T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct Divide {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return a / b; }
};

// Larger and Smaller return the first operand if both operands are equal, and NaN if one of them is NaN.
struct Larger {
  template <class T>
  LOCKSTEP_HOST_DEVICE bool takes_first(T a, T b) const {
    return a >= b || a != a;
  }
  template <class T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return takes_first(a, b) ? a : b;
  }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    return takes_first(a, b) == of_first ? dy : 0.0F;
  }
};
struct Smaller {
  template <class T>
  LOCKSTEP_HOST_DEVICE bool takes_first(T a, T b) const {
    return a <= b || a != a;
  }
  template <class T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return takes_first(a, b) ? a : b;
  }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    return takes_first(a, b) == of_first ? dy : 0.0F;
  }
};
/// In the gradient with respect to b, log(a) counts as 0 where a is not positive, as in TensorFlow.
struct Power {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return std::pow(a, b); }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    if (of_first) return b == 0.0F ? 0.0F : dy * b * std::pow(a, b - 1.0F);
    return a > 0.0F ? dy * std::pow(a, b) * std::log(a) : 0.0F;
  }
};
struct SquaredDifference {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return (a - b) * (a - b); }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    return dy * 2.0F * (of_first ? a - b : b - a);
  }
};
/// F::gradient as a function object of (a, b, dy).
template <class F>
struct BinaryGradient {
  F f;
  bool of_first;
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b, float dy) const { return f.gradient(a, b, dy, of_first); }
};

}  // namespace functor

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
    case BinaryOp::power:
      return visit(functor::Power{});
    case BinaryOp::squared_difference:
      return visit(functor::SquaredDifference{});
  }
}

/// Calls visit with the functor of a binary op if that functor takes integers.
template <class Visit>
void visit_integer_binary(BinaryOp op, Visit&& visit) {
  visit_binary(op, [&]<class F>(const F& f) {
    if constexpr (std::is_same_v<std::invoke_result_t<F, std::int64_t, std::int64_t>, std::int64_t>) visit(f);
  });
}

/// Calls visit with the BinaryGradient of a binary op's functor if that functor has a member function `gradient`.
template <class Visit>
void visit_binary_gradient(BinaryOp op, bool of_first, Visit&& visit) {
  visit_binary(op, [&]<class F>(const F& f) {
    if constexpr (requires { f.gradient(0.0F, 0.0F, 0.0F, true); }) visit(functor::BinaryGradient<F>{f, of_first});
  });
}

}  // namespace lockstep
