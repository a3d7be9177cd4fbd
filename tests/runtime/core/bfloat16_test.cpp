#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/bfloat16.h>

namespace lockstep {
namespace {

/// Rounds by the definition: to the nearer of the two neighbors, or to the even one if both are equally near.
std::uint16_t reference_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t dropped = bits & 0xffffu;
  std::uint32_t kept = bits >> 16;
  if (dropped > 0x8000u || (dropped == 0x8000u && kept % 2 == 1)) ++kept;
  return static_cast<std::uint16_t>(kept);
}

float from_bits(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(BFloat16, KeepsEveryValueThatItCanHold) {
  for (std::uint32_t upper = 0; upper < 0x10000u; ++upper) {
    const float value = from_bits(upper << 16);
    if (std::isnan(value)) continue;
    EXPECT_EQ(bfloat16(value).bits, upper);
    EXPECT_EQ(static_cast<float>(bfloat16(value)), value);
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(bfloat16(from_bits(0x3f808000u)).bits, 0x3f80);  // halfway, stays at even
  EXPECT_EQ(bfloat16(from_bits(0x3f818000u)).bits, 0x3f82);  // halfway, goes up to even
  EXPECT_EQ(bfloat16(from_bits(0x3f808001u)).bits, 0x3f81);
  EXPECT_EQ(bfloat16(from_bits(0xbf807fffu)).bits, 0xbf80);
  for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += 0x1235u)
    ASSERT_EQ(bfloat16(from_bits(bits)).bits, reference_bits(from_bits(bits))) << bits;
}

TEST(BFloat16, OverflowsToInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(bfloat16(std::numeric_limits<float>::max())), infinity);
  EXPECT_EQ(static_cast<float>(bfloat16(-infinity)), -infinity);
}

TEST(BFloat16, KeepsNaNEvenWhenAllItsKeptBitsAreZero) {
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(from_bits(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(from_bits(0xffffffffu)))));
}

}  // namespace
}  // namespace lockstep
