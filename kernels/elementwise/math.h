#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include <lockstep/runtime/core/host_device.h>

// Elementary functions of f32 without branches or table look-ups, so that the compiler vectorizes loops over them on
// the host. They are always inlined, because a loop that still contains a call is not vectorized and the compiler's
// inlining decisions vary. Accurate to 3 units in the last place where the result is a normal number, unless noted.
// exp_f32 and tanh_f32 use the methods and coefficients of Cephes (Moshier 1992).

namespace lockstep {

namespace detail {
/// a * b + c, rounded once if the processor has FMA.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__CUDA_ARCH__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
/// 2^n for -126 <= n <= 127.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float power_of_2(std::int32_t n) {
  const std::uint32_t bits = static_cast<std::uint32_t>(n + 127) << 23;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
}  // namespace detail

namespace detail {
/// e^x = (1 + rest) * high * low. high * low is 2^n, split into two powers of 2 since n may exceed the exponent range
/// of normal numbers.
struct Exponential {
  float rest, high, low;
};
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline Exponential exponential(float x) {
  x = x < -104.0F ? -104.0F : x;
  x = x > 89.0F ? 89.0F : x;
  // Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits.
  const float magic = 12582912.0F;
  const float shifted = multiply_add(x, 1.44269504F, magic);
  const float n = shifted - magic;
  const float r = multiply_add(n, 2.12194440e-4F, multiply_add(n, -0.693359375F, x));
  float p = 1.9875691500e-4F;
  p = multiply_add(p, r, 1.3981999507e-3F);
  p = multiply_add(p, r, 8.3334519073e-3F);
  p = multiply_add(p, r, 4.1665795894e-2F);
  p = multiply_add(p, r, 1.6666665459e-1F);
  p = multiply_add(p, r, 5.0000001201e-1F);
  const auto exponent = static_cast<std::int32_t>(bits_of(shifted) - 0x4B400000U);
  const std::int32_t half = exponent >> 1;
  return {multiply_add(p, r * r, r), power_of_2(half), power_of_2(exponent - half)};
}
}  // namespace detail

/// e^x. 0 below -104, infinity above 88.73; NaN stays NaN.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float exp_f32(float x) {
  const detail::Exponential e = detail::exponential(x);
  return (e.rest + 1.0F) * e.high * e.low;
}

/// e^x - 1 for x <= 88, accurate also near 0. Above 88, an intermediate result may overflow although e^x does not.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float expm1_f32(float x) {
  const detail::Exponential e = detail::exponential(x);
  return e.rest * e.high * e.low + (e.high * e.low - 1.0F);
}

/// log(1 + x) for 0 <= x <= 1, by the series of 2 artanh(x / (2 + x)); NaN stays NaN.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float log1p_f32(float x) {
  const float s = x / (2.0F + x);
  const float z = s * s;
  float p = 1.0F / 15;
  p = detail::multiply_add(p, z, 1.0F / 13);
  p = detail::multiply_add(p, z, 1.0F / 11);
  p = detail::multiply_add(p, z, 1.0F / 9);
  p = detail::multiply_add(p, z, 1.0F / 7);
  p = detail::multiply_add(p, z, 1.0F / 5);
  p = detail::multiply_add(p, z, 1.0F / 3);
  return 2.0F * detail::multiply_add(p * z, s, s);
}

/// 1 / (1 + e^-x).
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float sigmoid_f32(float x) { return 1.0F / (1.0F + exp_f32(-x)); }

/// Hyperbolic tangent. On GPUs it uses CUDA's fast intrinsics and is accurate to 4 units in the last place.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float tanh_f32(float x) {
  const float size = std::fabs(x);
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = detail::multiply_add(p, z, 2.06390887954e-2F);
  p = detail::multiply_add(p, z, -5.37397155531e-2F);
  p = detail::multiply_add(p, z, 1.33314422036e-1F);
  p = detail::multiply_add(p, z, -3.33332819422e-1F);
  const float small = detail::multiply_add(p * z, x, x);
#if defined(__CUDA_ARCH__)
  const float large = 1.0F - __fdividef(2.0F, __expf(2.0F * size) + 1.0F);
#else
  const float large = 1.0F - 2.0F / (exp_f32(2.0F * size) + 1.0F);
#endif
  return size < 0.625F ? small : std::copysign(large, x);
}

/// The error function, by two polynomials of Norbert Juffa (https://stackoverflow.com/q/35148198); the one for large
/// |x| approximates log(1 - erf).
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float erf_f32(float x) {
  const float size = std::fabs(x);
  const float z = x * x;
  float inner = -5.96761703e-4F;
  inner = detail::multiply_add(inner, z, 4.99119423e-3F);
  inner = detail::multiply_add(inner, z, -2.67681349e-2F);
  inner = detail::multiply_add(inner, z, 1.12819925e-1F);
  inner = detail::multiply_add(inner, z, -3.76125336e-1F);
  inner = detail::multiply_add(inner, z, 1.28379166e-1F);
  const float small = detail::multiply_add(inner, x, x);
  float outer = -1.72853470e-5F * size + 3.83197126e-4F;
  outer = outer * z + (-3.88396438e-3F * size + 2.42546219e-2F);
  outer = detail::multiply_add(outer, size, -1.06777877e-1F);
  outer = detail::multiply_add(outer, size, -6.34846687e-1F);
  outer = detail::multiply_add(outer, size, -1.28717512e-1F);
  const float large = 1.0F - exp_f32(outer * size - size);
  return size > 0.927734375F ? std::copysign(large, x) : small;
}

}  // namespace lockstep
