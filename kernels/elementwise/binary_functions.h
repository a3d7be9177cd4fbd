#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/math.h>
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
/// In the gradient with respect to b, log(a) counts as 0 where a is not positive, as in TensorFlow. A negative power of
/// an integer is rounded towards 0; a negative power of 0 is 0.
struct Power {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return std::pow(a, b); }
  template <std::integral T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T>)
      if (b < 0) return a == 1 || (a == -1 && b % 2 == 0) ? T{1} : a == -1 ? T{-1} : T{0};
    Wrapping<T> result = 1;
    Wrapping<T> square = static_cast<Wrapping<T>>(a);
    for (; b > 0; b /= 2) {
      if (b % 2 == 1) result *= square;
      square *= square;
    }
    return static_cast<T>(result);
  }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    if (of_first) return b == 0.0F ? 0.0F : dy * b * std::pow(a, b - 1.0F);
    return a > 0.0F ? dy * std::pow(a, b) * std::log(a) : 0.0F;
  }
};
struct SquaredDifference {
  template <class T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    const Wrapping<T> difference = static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b);
    return static_cast<T>(difference * difference);
  }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    return dy * 2.0F * (of_first ? a - b : b - a);
  }
};
// FloorDivide and Mod are Python's // and %: a == b * FloorDivide(a, b) + Mod(a, b), and Mod has the sign of b. For
// integers both are 0 where b is 0, as in NumPy.

struct FloorDivide {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const {
    const float rest = std::fmod(a, b);
    if (b == 0) return a / b;
    const float quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0) ? 1.0F : 0.0F);
    if (quotient == 0) return std::copysign(0.0F, a / b);
    return std::round(quotient);  // a - rest is a multiple of b; the division may have rounded
  }
  template <std::unsigned_integral T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(b == 0 ? 0 : a / b);
  }
  template <std::signed_integral T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    if (b == 0) return 0;
    if (b == -1) return Subtract()(T{0}, a);  // the division may overflow
    const T quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  }
  LOCKSTEP_HOST_DEVICE float gradient(float, float, float, bool) const { return 0.0F; }
};
struct Mod {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const {
    const float rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  }
  template <std::unsigned_integral T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(b == 0 ? 0 : a % b);
  }
  template <std::signed_integral T>
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    if (b == 0 || b == -1) return 0;  // the division by -1 may overflow
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    return of_first ? dy : -dy * FloorDivide()(a, b);
  }
};
struct Arctan2 {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const { return std::atan2(a, b); }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    return dy * (of_first ? b : -a) / (a * a + b * b);
  }
};
struct LogAddExp {
  LOCKSTEP_HOST_DEVICE float operator()(float a, float b) const {
    const float apart = a == b ? 0.0F : std::fabs(a - b);  // 0 also for equal infinities
    return (a > b ? a : b) + log1p_f32(exp_f32(-apart));
  }
  LOCKSTEP_HOST_DEVICE float gradient(float a, float b, float dy, bool of_first) const {
    return dy / (1.0F + exp_f32(of_first ? b - a : a - b));
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
    case BinaryOp::floor_divide:
      return visit(functor::FloorDivide{});
    case BinaryOp::mod:
      return visit(functor::Mod{});
    case BinaryOp::arctan2:
      return visit(functor::Arctan2{});
    case BinaryOp::logaddexp:
      return visit(functor::LogAddExp{});
  }
}

/// Whether the functors compute the dtype as integers.
constexpr bool takes_integers(DType dtype) { return is_integer(dtype) || dtype == DType::u8; }

/// Calls visit.operator()<T>() with the C++ type of i32, i64 or u8.
template <class Visit>
void visit_integer(DType dtype, const Visit& visit) {
  if (dtype == DType::u8) return visit.template operator()<std::uint8_t>();
  if (dtype == DType::i32) return visit.template operator()<std::int32_t>();
  visit.template operator()<std::int64_t>();
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
