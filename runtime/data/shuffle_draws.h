#pragma once

#include <cstdint>
#include <random>

namespace lockstep::detail {

/// The random numbers of one epoch of a shuffle. They are the same on every machine: the C++ standard defines the
/// generator and its seeding exactly, and `below` replaces std::uniform_int_distribution, whose results are
/// implementation-defined.
class ShuffleDraws {
 public:
  ShuffleDraws(std::uint64_t seed, std::uint64_t epoch) {
    std::seed_seq words{low(seed), high(seed), low(epoch), high(epoch)};
    engine_.seed(words);
  }

  /// Uniform in [0, bound). Precondition: bound >= 1.
  std::int64_t below(std::int64_t bound) {
    const auto range = static_cast<std::uint64_t>(bound);
    const std::uint64_t surplus = (0 - range) % range;  // 2^64 mod range: numbers below it would favor some results
    std::uint64_t number = engine_();
    while (number < surplus) number = engine_();
    return static_cast<std::int64_t>(number % range);
  }

 private:
  static std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
  static std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

  std::mt19937_64 engine_;
};

}  // namespace lockstep::detail
