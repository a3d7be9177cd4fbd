#pragma once

#include <cstdint>

#include <lockstep/kernels/random/dropout_rule.h>
#include <lockstep/kernels/random/philox.h>
#include <lockstep/runtime/core/host_device.h>

// Definitions shared by the sources of the attention kernels.

namespace lockstep::attention {

/// The score of a masked key. It is finite because the softmax of a row that contains only -inf is NaN: a query whose
/// keys are all masked gets equal weights for all of them.
inline constexpr float hidden_score = -2.3e38F;

/// Dropout of weights. One block of random words serves four neighboring keys of a row (example, head, query).
struct WeightDropout {
  WeightDropout(float rate, const RandomKey& key, std::int64_t keys)
      : rule(rate), sequence(key), blocks((keys + 3) / 4) {}

  /// The random words of keys 4 * group to 4 * group + 3.
  LOCKSTEP_HOST_DEVICE PhiloxBlock block(std::int64_t row, std::int64_t group) const {
    return sequence.block(static_cast<std::uint64_t>(row * blocks + group));
  }
  /// The factor of a key's weight: 0 or 1 / (1 - rate).
  LOCKSTEP_HOST_DEVICE float factor(std::int64_t row, std::int64_t key) const {
    return rule(1.0F, block(row, key / 4).word[key % 4]);
  }

  DropoutRule rule;
  RandomSequence sequence;
  std::int64_t blocks;  ///< number of blocks per row
};

}  // namespace lockstep::attention
