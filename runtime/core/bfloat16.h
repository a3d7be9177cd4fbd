#pragma once

#include <cstdint>
#include <cstring>

#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// The upper 16 bits of an IEEE f32. Has no arithmetic operators; convert to float to compute.
struct bfloat16 {
  std::uint16_t bits = 0;  ///< 1 sign bit, 8 exponent bits, 7 fraction bits

  bfloat16() = default;
  /// Rounds to nearest even and keeps NaN. Values that round beyond the largest finite value become infinite.
  LOCKSTEP_HOST_DEVICE explicit bfloat16(float value) : bits(rounded(value)) {}
  /// The bits of bfloat16(value).
  LOCKSTEP_HOST_DEVICE static std::uint16_t rounded(float value) {
    std::uint32_t u;
    std::memcpy(&u, &value, sizeof u);
#if defined(__CUDA_ARCH__)
    const bool is_nan = value != value;
    std::uint16_t nearest;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
#else
    const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t nearest = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
#endif
    return static_cast<std::uint16_t>(is_nan ? (u >> 16) | 0x40u : nearest);
  }
  /// Converts exactly.
  LOCKSTEP_HOST_DEVICE explicit operator float() const {
    const std::uint32_t u = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &u, sizeof value);
    return value;
  }
};

}  // namespace lockstep
