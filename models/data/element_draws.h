#pragma once

#include <cstdint>

#include <lockstep/kernels/random/philox.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// The transform that draws random numbers. Each transform has a stream of its own, so that transforms with equal seeds
/// draw different numbers.
enum class DrawStream : std::uint32_t { augmentation, crop, mixup };

/// Random numbers for one element of a data set. They depend only on the seed, the stream, the epoch and the element's
/// number, not on threads. Gives at most 2^26 numbers for each of at most 2^38 elements.
class ElementDraws {
 public:
  /// Starts at the element's first number.
  ElementDraws(std::uint64_t seed, DrawStream stream, const ElementId& id)
      : sequence_({.seed = seed, .stream = static_cast<std::uint32_t>(stream), .step = id.epoch}),
        position_(static_cast<std::uint64_t>(id.number) << 26) {}

  /// Uniform over all 32-bit words.
  std::uint32_t word() {
    if (position_ % 4 == 0) block_ = sequence_.block(position_ / 4);
    return block_.word[position_++ % 4];
  }
  /// Uniform in (0, 1).
  double uniform() { return (word() + 0.5) / 4294967296.0; }
  /// Uniform over 0 .. bound - 1, with probabilities that differ by at most 2^-32. Precondition: 1 <= bound < 2^32.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(std::uint64_t{word()} * static_cast<std::uint64_t>(bound) >> 32);
  }

 private:
  RandomSequence sequence_;
  std::uint64_t position_;
  PhiloxBlock block_{};
};

}  // namespace lockstep
