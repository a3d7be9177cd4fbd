#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace lockstep {

/// 32 characters that are handled at once.
class CharacterBlock {
 public:
  explicit CharacterBlock(const char* characters) { std::memcpy(&characters_, characters, sizeof(characters_)); }
  ///@{
  /// Has a bit for each character, the lowest for the first one.
  std::uint32_t equal_to(char c) const { return bits_of(characters_ == static_cast<unsigned char>(c)); }
  std::uint32_t digits() const { return bits_of(characters_ - static_cast<unsigned char>('0') <= 9); }
  ///@}
  /// The numbers that four groups of eight digits are. Takes the last `after` of these characters and, before them,
  /// the `before` ones that end where those of `other` end without their last `after`; 0 stands for all others.
  std::array<std::uint64_t, 4> numbers(std::size_t after, std::size_t before, const CharacterBlock& other) const {
    using Pairs [[gnu::vector_size(32)]] = std::uint16_t;
    using Fours [[gnu::vector_size(32)]] = std::uint32_t;
    using Eights [[gnu::vector_size(32)]] = std::uint64_t;
    const Characters last = last_of(after);
    const Characters both = (characters_ & last) | (other.characters_ & ~last);
    const auto ones = reinterpret_cast<Pairs>((both - static_cast<unsigned char>('0')) & last_of(after + before));
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

  /// Has ones in the last `count` characters.
  static Characters last_of(std::size_t count) {
    static constexpr auto masks = [] {
      std::array<unsigned char, 2 * sizeof(Characters)> bytes{};
      for (std::size_t i = sizeof(Characters); i < bytes.size(); ++i) bytes[i] = 0xff;
      return bytes;
    }();
    Characters mask;
    std::memcpy(&mask, masks.data() + count, sizeof(mask));
    return mask;
  }

  static std::uint32_t bits_of(Truths truths) {
#if defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(truths)));
#elif defined(__SSE2__)
    std::array<__m128i, 2> halves;
    std::memcpy(halves.data(), &truths, sizeof(truths));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(halves[0]) | _mm_movemask_epi8(halves[1]) << 16);
#else
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < sizeof(truths); ++i) bits |= static_cast<std::uint32_t>(truths[i] & 1) << i;
    return bits;
#endif
  }

  Characters characters_;
};

}  // namespace lockstep
