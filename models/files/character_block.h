#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace lockstep {

/// 32 characters that are compared at once. Each result has a bit for a character, the lowest for the first one.
class CharacterBlock {
 public:
  explicit CharacterBlock(const char* characters) { std::memcpy(&characters_, characters, sizeof(characters_)); }
  std::uint32_t equal_to(char c) const { return bits_of(characters_ == static_cast<unsigned char>(c)); }
  std::uint32_t digits() const { return bits_of(characters_ - static_cast<unsigned char>('0') <= 9); }

 private:
  using Characters [[gnu::vector_size(32)]] = unsigned char;
  using Truths [[gnu::vector_size(32)]] = signed char;  // -1 or 0

  static std::uint32_t bits_of(Truths truths) {
#if defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(truths)));
#elif defined(__SSE2__)
    __m128i halves[2];
    std::memcpy(halves, &truths, sizeof(truths));
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
