#pragma once

#include <cmath>
#include <numbers>

#include <lockstep/kernels/random/philox.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Number `i` of the four standard normal numbers that a block of random words gives. Each pair of numbers is computed
/// from a pair of words (Box-Muller).
LOCKSTEP_HOST_DEVICE inline double standard_normal(const PhiloxBlock& random, int i) {
  const int pair = i / 2 * 2;
  const double unit = (random.word[pair] + 0.5) * 0x1p-32;  // inside (0, 1)
  const double turn = (random.word[pair + 1] + 0.5) * 0x1p-32;
  const double radius = std::sqrt(-2 * std::log(unit));
  const double angle = 2 * std::numbers::pi * turn;
  return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

/// Number `i` of a sequence of standard normal numbers that are redrawn until their magnitude is below 2.
LOCKSTEP_HOST_DEVICE inline double normal_within_two(const RandomSequence& sequence, std::uint64_t i) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const PhiloxBlock random = sequence.block(i + (attempt << 48));
    for (int k = 0; k < 4; ++k)
      if (const double drawn = standard_normal(random, k); std::abs(drawn) < 2) return drawn;
  }
}

}  // namespace lockstep
