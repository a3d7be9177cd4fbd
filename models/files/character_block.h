#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace lockstep {

/// 32 characters that are processed at once.
class CharacterBlock {
 public:
  /// Reads 32 characters.
  explicit CharacterBlock(const char* characters) { std::memcpy(&characters_, characters, sizeof(characters_)); }
  ///@{
  /// Bit masks: bit i is set if character i equals `c`, or if character i is a digit.
  std::uint32_t equal_to(char c) const { return bits_of(characters_ == static_cast<unsigned char>(c)); }
  std::uint32_t digits() const { return bits_of(characters_ - static_cast<unsigned char>('0') <= 9); }
  ///@}
  /// Parses 32 digits as four numbers of eight digits each. The last `after` digits are this block's last characters.
  /// The `before` digits in front of them are the characters of `other` at the same indices. All digits further in
  /// front are 0. Preconditions: these characters are digits, and after + before <= 32.
  std::array<std::uint64_t, 4> numbers(std::size_t after, std::size_t before, const CharacterBlock& other) const {
    using Pairs [[gnu::vector_size(32)]] = std::uint16_t;
    using Fours [[gnu::vector_size(32)]] = std::uint32_t;
    using Eights [[gnu::vector_size(32)]] = std::uint64_t;
    Characters last;
    Characters all;
    std::memcpy(&last, last_ones.data() + after, sizeof(last));
    std::memcpy(&all, last_ones.data() + after + before, sizeof(all));
    const Characters both = (characters_ & last) | (other.characters_ & ~last);
    const auto ones = reinterpret_cast<Pairs>((both - static_cast<unsigned char>('0')) & all);
    const Pairs pairs = (ones & 0xff) * 10 + (ones >> 8);
    const auto products =
        reinterpret_cast<Fours>(pairs * Pairs{100, 1, 100, 1, 100, 1, 100, 1, 100, 1, 100, 1, 100, 1, 100, 1});
    const auto fours = reinterpret_cast<Eights>((products & 0xffff) + (products >> 16));
    const auto eight = [&](int i) { return fours[i] * (1 + (std::uint64_t{10000} << 32)) >> 32; };
    return {eight(0), eight(1), eight(2), eight(3)};
  }

 private:
  using Characters [[gnu::vector_size(32)]] = unsigned char;
  using Truths [[gnu::vector_size(32)]] = signed char;  // -1 or 0

  /// The 32 bytes from index `count` on are a mask of a block's last `count` characters: 0xff for these, 0 for the
  /// others.
  static constexpr auto last_ones = [] {
    std::array<unsigned char, 2 * sizeof(Characters)> bytes{};
    std::fill(bytes.begin() + sizeof(Characters), bytes.end(), static_cast<unsigned char>(0xff));
    return bytes;
  }();

  static std::uint32_t bits_of(const Truths& truths) {
#if defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(truths)));
#elif defined(__SSE2__)
    __m128i first;
    __m128i last;
    std::memcpy(&first, &truths, sizeof(first));
    std::memcpy(&last, reinterpret_cast<const char*>(&truths) + sizeof(first), sizeof(last));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(first) | _mm_movemask_epi8(last) << 16);
#else
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < sizeof(truths); ++i) bits |= static_cast<std::uint32_t>(truths[i] & 1) << i;
    return bits;
#endif
  }

  Characters characters_;
};

}  // namespace lockstep
