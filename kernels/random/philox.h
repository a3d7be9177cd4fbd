#pragma once

#include <cstdint>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/core/host_device.h>

// Counter-based random numbers: Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
// Number i of a sequence is computed from the key and i alone, so any thread or device can take any part of it.

namespace lockstep {

struct PhiloxBlock {
  std::uint32_t word[4];
};
struct PhiloxKey {
  std::uint32_t word[2];
};

/// Four random words from a counter and a key. Always inlined, so that loops over counters are vectorized. Computes
/// with 32-bit words stored in 64-bit variables: otherwise, a vectorized loop would spend most of its time on
/// conversions between the two widths.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline PhiloxBlock philox4x32(PhiloxBlock counter, PhiloxKey key) {
  constexpr std::uint64_t low_half = 0xFFFFFFFFU;
  std::uint64_t a = counter.word[0], b = counter.word[1], c = counter.word[2], d = counter.word[3];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = 0xD2511F53U * a;
    const std::uint64_t right = 0xCD9E8D57U * c;
    a = (right >> 32) ^ b ^ key.word[0];
    b = right & low_half;
    c = (left >> 32) ^ d ^ key.word[1];
    d = left & low_half;
    key.word[0] += 0x9E3779B9U;
    key.word[1] += 0xBB67AE85U;
  }
  return {{static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(c),
           static_cast<std::uint32_t>(d)}};
}

/// The sequence that a RandomKey names. One call of Philox, with `seed` as key and the other members as counter, turns
/// the 192 bits of the RandomKey into the 128 bits that select the sequence. Since Philox is a bijection of its
/// counter, different RandomKeys with the same seed name different sequences.
class RandomSequence {
 public:
  LOCKSTEP_HOST_DEVICE explicit RandomSequence(const RandomKey& key)
      : mixed_(philox4x32({{low(key.step), high(key.step), key.stream, key.replica}},
                          {{low(key.seed), high(key.seed)}})) {}

  /// Numbers 4 * index .. 4 * index + 3, uniform over all 32-bit words.
  LOCKSTEP_HOST_DEVICE PhiloxBlock block(std::uint64_t index) const {
    return philox4x32({{low(index), high(index), mixed_.word[2], mixed_.word[3]}}, {{mixed_.word[0], mixed_.word[1]}});
  }

 private:
  LOCKSTEP_HOST_DEVICE static std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  LOCKSTEP_HOST_DEVICE static std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

  PhiloxBlock mixed_;
};

}  // namespace lockstep
