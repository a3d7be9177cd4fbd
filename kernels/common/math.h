#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include <lockstep/runtime/core/host_device.h>

// Elementary functions of f32 without branches or table look-ups, so that loops over them are vectorized on the host.
// Always inlined: a call that is left in a loop keeps it scalar, and the compiler's estimate of their size varies.
// Within 2 units in the last place of the exact values; method and coefficients of Cephes (Moshier 1992).

namespace lockstep {

namespace detail {
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

/// e^x. 0 below -104, infinity above 88.73; NaN stays.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float exp_f32(float x) {
  x = x < -104.0F ? -104.0F : x;
  x = x > 89.0F ? 89.0F : x;
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
  const float magic = 12582912.0F;
  const float shifted = x * 1.44269504F + magic;
  const float n = shifted - magic;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  // 2^n in two factors, as n itself may lie outside the exponents of normal numbers.
  const auto exponent = static_cast<std::int32_t>(detail::bits_of(shifted) - 0x4B400000U);
  const std::int32_t half = exponent >> 1;
  return p * detail::power_of_2(half) * detail::power_of_2(exponent - half);
}

/// 1 / (1 + e^-x).
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float sigmoid_f32(float x) { return 1.0F / (1.0F + exp_f32(-x)); }

[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline float tanh_f32(float x) {
  const float size = std::fabs(x);
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float small = p * z * x + x;
  const float large = 1.0F - 2.0F / (exp_f32(2.0F * size) + 1.0F);
  return size < 0.625F ? small : std::copysign(large, x);
}

}  // namespace lockstep
