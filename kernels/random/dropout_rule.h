#pragma once

#include <cstdint>

#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Dropout of one element x, given a random 32-bit word: 0 with probability `rate`, otherwise x / (1 - rate).
struct DropoutRule {
  /// Precondition: 0 <= rate < 1.
  explicit DropoutRule(float rate)
      : threshold(static_cast<std::uint32_t>(static_cast<double>(rate) * 4294967296.0)), scale(1.0F / (1.0F - rate)) {}
  LOCKSTEP_HOST_DEVICE float operator()(float x, std::uint32_t random) const {
    return random < threshold ? 0.0F : x * scale;
  }

  std::uint32_t threshold;  ///< smaller words drop the element
  float scale;              ///< 1 / (1 - rate)
};

}  // namespace lockstep
