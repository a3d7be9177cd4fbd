#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <support/tensors.h>

#include <lockstep/kernels/random/normal.h>
#include <lockstep/kernels/random/philox.h>

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

/// Known-answer tests of the authors' library Random123.
TEST(Philox, GivesTheKnownAnswers) {
  const std::uint32_t ones = 0xffffffffU;
  EXPECT_THAT(philox4x32({{0, 0, 0, 0}}, {{0, 0}}).word,
              ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  EXPECT_THAT(philox4x32({{ones, ones, ones, ones}}, {{ones, ones}}).word,
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(philox4x32({{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}}, {{0xa4093822U, 0x299f31d0U}}).word,
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

// semantics 9.1: stream id = (seed, layer, r, step)
TEST(RandomSequence, EveryPartOfTheKeyAndTheIndexCount) {
  const std::uint64_t high = std::uint64_t{1} << 32;
  std::set<std::vector<std::uint32_t>> blocks;
  const auto add = [&](const RandomKey& key, std::uint64_t index) {
    const PhiloxBlock block = RandomSequence(key).block(index);
    blocks.insert({block.word, block.word + 4});
  };
  add({}, 0);
  add({}, 1);
  add({}, high);
  for (const std::uint64_t value : {std::uint64_t{1}, high}) {
    add({.seed = value}, 0);
    add({.step = value}, 0);
  }
  add({.stream = 1}, 0);
  add({.replica = 1}, 0);
  EXPECT_EQ(blocks.size(), 9U);
}

TEST(RandomSequence, SameKeySameNumbers) {
  const RandomKey key{.seed = 7, .stream = 2, .replica = 3, .step = 11};
  const PhiloxBlock a = RandomSequence(key).block(5);
  const PhiloxBlock b = RandomSequence(key).block(5);
  EXPECT_THAT(a.word, ::testing::ElementsAreArray(b.word));
}

/// The numbers of Box and Muller's formula, of mean 1 and deviation 0.5, for pairs of the sequence's words.
std::vector<double> normal_numbers(const RandomKey& key, std::size_t count) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const PhiloxBlock words = RandomSequence(key).block(i / 4);
    const std::size_t pair = i % 4 / 2 * 2;
    const double angle = 2 * std::numbers::pi * (words.word[pair + 1] + 0.5) / 4294967296.0;
    const double radius = std::sqrt(-2 * std::log((words.word[pair] + 0.5) / 4294967296.0));
    numbers.push_back(1 + 0.5 * radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }
  return numbers;
}

TEST(Normal, GivesTheNumbersOfTheKey) {
  const RandomKey key{.seed = 5, .stream = 1, .replica = 2, .step = 9};
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const std::int64_t columns : {1, 43}) {
      const Tensor y = normal(
          {7, columns}, 1, 0.5, [&] { return key; }, dtype);
      EXPECT_EQ(y.shape(), (Shape{7, columns}));
      EXPECT_EQ(y.dtype(), dtype);
      expect_close(y, normal_numbers(key, static_cast<std::size_t>(7 * columns)));
    }
  EXPECT_EQ(normal({0, 3}, 1, 0.5, [&] { return key; }).shape(), (Shape{0, 3}));
}

TEST(Normal, HasTheMeanAndTheDeviation) {
  const std::int64_t n = 100'000;
  double sum = 0;
  double squares = 0;
  for (const double x : normal({n}, -2, 3, [] { return RandomKey{.seed = 1}; }).to_vector<double>()) {
    sum += x + 2;
    squares += (x + 2) * (x + 2);
  }
  // Five standard errors of the mean and of the variance.
  EXPECT_NEAR(sum / n, 0, 5 * 3 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 9, 5 * 9 * std::sqrt(2.0 / n));
}

}  // namespace
}  // namespace lockstep::test
