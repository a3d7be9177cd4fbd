#pragma once

#include <cmath>
#include <limits>

#include <lockstep/kernels/elementwise/math.h>

// Mathematical functions of one element and their gradients; see array/elementwise.h.

namespace lockstep::functor {

// operator() computes f(x). gradient computes dx from dy and either f(x), if `from_result`, or x.

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

// Maximum, Minimum and Clip return NaN for a NaN x; Maximum and Minimum also for a NaN bound.
struct Maximum {
  static constexpr bool from_result = false;
  float lowest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < lowest || lowest != lowest ? lowest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x < lowest || lowest != lowest ? 0.0F : dy; }
};
struct Minimum {
  static constexpr bool from_result = false;
  float highest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > highest || highest != highest ? highest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x > highest || highest != highest ? 0.0F : dy; }
};

struct Clip {
  static constexpr bool from_result = false;
  float lowest, highest;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < lowest ? lowest : x > highest ? highest : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return x < lowest || x > highest ? 0.0F : dy; }
};

struct PowerOf {
  static constexpr bool from_result = false;
  float exponent;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::pow(x, exponent); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const {
    return exponent == 0.0F ? 0.0F : dy * exponent * std::pow(x, exponent - 1.0F);
  }
};
struct Divided {
  static constexpr bool from_result = false;
  float numerator;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return numerator / x; }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return -dy * (numerator / x) / x; }
};
struct Rsqrt {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return 1.0F / std::sqrt(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return -0.5F * dy / (x * std::sqrt(x)); }
};
struct Log1p {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log1p(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy / (1.0F + x); }
};
/// Above 1, subtracts 1 from e^x: that costs little accuracy there, and expm1_f32 requires x <= 88.
struct Expm1 {
  static constexpr bool from_result = true;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > 1.0F ? exp_f32(x) - 1.0F : expm1_f32(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return dy * (y + 1.0F); }
};
struct Log2 {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log2(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return 1.44269504F * dy / x; }
};
struct Log10 {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::log10(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return 0.434294482F * dy / x; }
};
struct Erf {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return erf_f32(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy * 1.12837917F * exp_f32(-x * x); }
};
struct Sin {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::sin(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy * std::cos(x); }
};
struct Cos {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::cos(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return -dy * std::sin(x); }
};
struct Tan {
  static constexpr bool from_result = true;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::tan(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return dy * (1.0F + y * y); }
};
struct Arcsin {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::asin(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy / std::sqrt((1.0F - x) * (1.0F + x)); }
};
struct Arccos {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::acos(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return -dy / std::sqrt((1.0F - x) * (1.0F + x)); }
};
struct Arctan {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::atan(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy / (1.0F + x * x); }
};
struct Sinh {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::sinh(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy * std::cosh(x); }
};
struct Cosh {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::cosh(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy * std::sinh(x); }
};
struct Arcsinh {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::asinh(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy / std::hypot(x, 1.0F); }
};
struct Arccosh {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::acosh(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const {
    return dy / (std::sqrt(x - 1.0F) * std::sqrt(x + 1.0F));  // NaN below 1, like the result
  }
};
struct Arctanh {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::atanh(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const { return dy / ((1.0F - x) * (1.0F + x)); }
};

// The following functions are piecewise constant: their gradient is 0.

/// NaN stays NaN.
struct Sign {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > 0.0F ? 1.0F : x < 0.0F ? -1.0F : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
struct Floor {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::floor(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
struct Ceil {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::ceil(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
struct Trunc {
  static constexpr bool from_result = false;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::trunc(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float, float) const { return 0.0F; }
};
/// Rounds to a number of decimals, ties to even: rint(x * up / down) / up * down. One of `up` and `down` is 1, the
/// other a power of ten. Returns x where x * up is not finite.
struct Round {
  static constexpr bool from_result = false;
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

}  // namespace lockstep::functor
