#pragma once

#include <cmath>
#include <limits>

#include <lockstep/kernels/elementwise/functor.h>
#include <lockstep/kernels/elementwise/math.h>

// Mathematical functions of one element; see functor.h and array/elementwise.h.

namespace lockstep::functor {

struct Negative {
  static constexpr Info info{.name = "negative", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return -x; }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto&, const auto& dy) const { return -dy; }
};
struct Exp {
  static constexpr Info info{.name = "exp", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return exp_f32(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return dy * y; }
};
struct Log {
  static constexpr Info info{.name = "log", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy / x; }
};
struct Sqrt {
  static constexpr Info info{.name = "sqrt", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::sqrt(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return 0.5F * dy / y; }
};
struct Cbrt {
  static constexpr Info info{.name = "cbrt", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::cbrt(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return dy / (3.0F * y * y); }
};
struct Square {
  static constexpr Info info{.name = "square", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x * x; }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return 2.0F * x * dy; }
};

struct Abs {
  static constexpr Info info{.name = "abs", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::fabs(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x > 0.0F ? dy : x < 0.0F ? -dy : 0.0F; }
};

// Maximum, Minimum and Clip return NaN for a NaN x; Maximum and Minimum also for a NaN bound.
struct Maximum {
  static constexpr Info info{.name = "maximum", .from_result = false};
  float lowest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < lowest || lowest != lowest ? lowest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x < lowest || lowest != lowest ? 0.0F : dy; }
};
struct Minimum {
  static constexpr Info info{.name = "minimum", .from_result = false};
  float highest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > highest || highest != highest ? highest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x > highest || highest != highest ? 0.0F : dy; }
};

struct Clip {
  static constexpr Info info{.name = "clip", .from_result = false};
  float lowest, highest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < lowest ? lowest : x > highest ? highest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x < lowest || x > highest ? 0.0F : dy; }
};

struct PowerOf {
  static constexpr Info info{.name = "power", .from_result = false};
  float exponent;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::pow(x, exponent); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const {
    return exponent == 0.0F ? 0.0F : dy * exponent * std::pow(x, exponent - 1.0F);
  }
  auto slope(const auto& x) const { return exponent * apply<PowerOf>(x, exponent == 0.0F ? 0.0F : exponent - 1.0F); }
};
struct Divided {
  static constexpr Info info{.name = "divide", .from_result = false};
  float numerator;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return numerator / x; }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return -dy * (numerator / x) / x; }
};
struct Rsqrt {
  static constexpr Info info{.name = "rsqrt", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return 1.0F / std::sqrt(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return -0.5F * dy / (x * apply<Sqrt>(x)); }
};
struct Log1p {
  static constexpr Info info{.name = "log1p", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log1p(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy / (1.0F + x); }
};
/// Above 1, subtracts 1 from e^x: that costs little accuracy there, and expm1_f32 requires x <= 88.
struct Expm1 {
  static constexpr Info info{.name = "expm1", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > 1.0F ? exp_f32(x) - 1.0F : expm1_f32(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return dy * (y + 1.0F); }
};
struct Exp2 {
  static constexpr Info info{.name = "exp2", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::exp2(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return 0.693147181F * dy * y; }
};
struct Log2 {
  static constexpr Info info{.name = "log2", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log2(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return 1.44269504F * dy / x; }
};
struct Log10 {
  static constexpr Info info{.name = "log10", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log10(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return 0.434294482F * dy / x; }
};
struct Erf {
  static constexpr Info info{.name = "erf", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return erf_f32(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    return dy * 1.12837917F * apply<Exp>(-x * x);
  }
};
struct Cos;
struct Sin {
  static constexpr Info info{.name = "sin", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::sin(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy * apply<Cos>(x); }
};
struct Cos {
  static constexpr Info info{.name = "cos", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::cos(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return -dy * apply<Sin>(x); }
};
struct Tan {
  static constexpr Info info{.name = "tan", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::tan(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return dy * (1.0F + y * y); }
};
struct Arcsin {
  static constexpr Info info{.name = "arcsin", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::asin(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    return dy / apply<Sqrt>((1.0F - x) * (1.0F + x));
  }
};
struct Arccos {
  static constexpr Info info{.name = "arccos", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::acos(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    return -dy / apply<Sqrt>((1.0F - x) * (1.0F + x));
  }
};
struct Arctan {
  static constexpr Info info{.name = "arctan", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::atan(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy / (1.0F + x * x); }
};
struct Cosh;
struct Sinh {
  static constexpr Info info{.name = "sinh", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::sinh(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy * apply<Cosh>(x); }
};
struct Cosh {
  static constexpr Info info{.name = "cosh", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::cosh(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy * apply<Sinh>(x); }
};
struct Arcsinh {
  static constexpr Info info{.name = "arcsinh", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::asinh(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy / std::hypot(x, 1.0F); }
  static auto slope(const auto& x) { return apply<Rsqrt>(x * x + 1.0F); }
};
struct Arccosh {
  static constexpr Info info{.name = "arccosh", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::acosh(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    return dy / (apply<Sqrt>(x - 1.0F) * apply<Sqrt>(x + 1.0F));  // NaN below 1, like the result
  }
};
struct Arctanh {
  static constexpr Info info{.name = "arctanh", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::atanh(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy / ((1.0F - x) * (1.0F + x)); }
};

// The following functions are piecewise constant: their gradient is 0.

/// NaN stays NaN.
struct Sign {
  static constexpr Info info{.name = "sign", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > 0.0F ? 1.0F : x < 0.0F ? -1.0F : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
struct Floor {
  static constexpr Info info{.name = "floor", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::floor(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
struct Ceil {
  static constexpr Info info{.name = "ceil", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::ceil(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
struct Trunc {
  static constexpr Info info{.name = "trunc", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::trunc(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
/// Rounds to a number of decimals, ties to even: rint(x * up / down) / up * down. One of `up` and `down` is 1, the
/// other a power of ten. Returns x where x * up is not finite.
struct Round {
  static constexpr Info info{.name = "round", .from_result = false};
  static constexpr float largest = std::numeric_limits<float>::max();
  float up;
  float down;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    const float scaled = x * up / down;
    const float rounded = std::rint(scaled) / up * down;
    return std::fabs(scaled) <= largest ? rounded : x;
  }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};

// The ops without parameters that convert integers, u8 and bool to f32, each as OP(name of the op, functor).
// array/elementwise.cpp defines them.
// clang-format off
#define LOCKSTEP_MATH_OPS(OP)                                    \
  OP(exp, Exp) OP(exp2, Exp2) OP(expm1, Expm1)                   \
  OP(log, Log) OP(log1p, Log1p) OP(log2, Log2) OP(log10, Log10)  \
  OP(sqrt, Sqrt) OP(rsqrt, Rsqrt) OP(cbrt, Cbrt) OP(erf, Erf)    \
  OP(sin, Sin) OP(cos, Cos) OP(tan, Tan)                         \
  OP(arcsin, Arcsin) OP(arccos, Arccos) OP(arctan, Arctan)       \
  OP(sinh, Sinh) OP(cosh, Cosh)                                  \
  OP(arcsinh, Arcsinh) OP(arccosh, Arccosh) OP(arctanh, Arctanh) \
  OP(floor, Floor) OP(ceil, Ceil)
// clang-format on

#define LOCKSTEP_LISTED(op, Functor) , Functor
using MathFunctions = List<Negative, Square, Abs, Maximum, Minimum, Clip, PowerOf, Divided, Sign, Trunc,
                           Round LOCKSTEP_MATH_OPS(LOCKSTEP_LISTED)>;
#undef LOCKSTEP_LISTED

}  // namespace lockstep::functor
