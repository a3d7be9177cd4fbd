#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/random/normal.h>
#include <lockstep/kernels/random/philox.h>
#include <lockstep/kernels/random/random.h>

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

RandomKey some_key() { return {.seed = 5, .stream = 1, .replica = 2, .step = 9}; }

TEST(Uniform, OfOneNumberIsThatNumber) {
  EXPECT_THAT(uniform({3}, 2, 2, some_key).to_vector<float>(), ElementsAre(2, 2, 2));
}

TEST(RandInt, StartsAtTheLowestI64) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t number : randint({99}, least, least + 2, some_key, DType::i64).to_vector<std::int64_t>())
    EXPECT_LE(number, least + 1);
}

/// Pearson's statistic of counts, and its bound: five standard deviations of chi-square's distribution above its mean.
void expect_likely(const std::vector<double>& counts, const std::vector<double>& probabilities) {
  double total = 0;
  for (const double count : counts) total += count;
  double statistic = 0;
  int freedom = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "class " << i;
      continue;
    }
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++freedom;
  }
  EXPECT_LT(statistic, freedom + 5 * std::sqrt(2.0 * freedom));
}

/// How often each of the numbers 0 to `classes` - 1 is among the elements.
std::vector<double> counts_of(const Tensor& y, std::int64_t classes) {
  std::vector<double> counts(static_cast<std::size_t>(classes));
  for (const double number : y.to_vector<double>()) ++counts.at(static_cast<std::size_t>(number));
  return counts;
}

TEST(RandomNumbers, HaveTheirDistributions) {
  const auto key = [] { return RandomKey{.seed = 1}; };
  const std::int64_t n = 100'000;
  const std::vector<double> tenths(10, 0.1);
  std::vector<double> counts(10);
  for (const double x : uniform({n}, 0, 10, key).to_vector<double>()) ++counts.at(static_cast<std::size_t>(x));
  expect_likely(counts, tenths);
  expect_likely(counts_of(randint({n}, 0, 10, key), 10), tenths);
  expect_likely(counts_of(binomial({n}, 1, 0.3, key), 2), {0.7, 0.3});
  expect_likely(counts_of(binomial({n}, 5, 0.25, key), 6),
                {243 / 1024.0, 405 / 1024.0, 270 / 1024.0, 90 / 1024.0, 15 / 1024.0, 1 / 1024.0});
  EXPECT_THAT(binomial({3}, 7, 1, key).to_vector<float>(), ElementsAre(7, 7, 7));
  EXPECT_THAT(binomial({3}, 7, 0, key).to_vector<float>(), ElementsAre(0, 0, 0));
}

TEST(TruncatedNormal, HasItsDistribution) {
  const std::int64_t n = 100'000;
  double sum = 0;
  double squares = 0;
  for (const double x : truncated_normal({n}, -2, 3, [] { return RandomKey{.seed = 1}; }).to_vector<double>()) {
    EXPECT_LE(std::abs(x + 2), 6);
    sum += x + 2;
    squares += (x + 2) * (x + 2);
  }
  const double variance = 9 * .87962566103423978 * .87962566103423978;
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n, variance, 5 * variance * std::sqrt(2.0 / n));
}

TEST(Categorical, DrawsClassesWithTheirProbabilities) {
  const float never = -std::numeric_limits<float>::infinity();
  const std::vector<double> first{0.5, 0.25, 0.125, 0.125};
  const std::vector<double> second{0, 0.75, 0, 0.25};
  std::vector<float> logits;
  for (const double p : first) logits.push_back(static_cast<float>(std::log(p) + 100));
  for (const double p : second) logits.push_back(p == 0 ? never : static_cast<float>(std::log(p)));
  for (const DType dtype : {DType::i32, DType::i64}) {
    const Tensor y = categorical(
        Tensor::from(logits, {2, 4}), 20'000, [] { return RandomKey{.seed = 1}; }, dtype);
    EXPECT_EQ(y.shape(), (Shape{2, 20'000}));
    EXPECT_EQ(y.dtype(), dtype);
    expect_likely(counts_of(y.slice_view(0, 0, 1), 4), first);
    expect_likely(counts_of(y.slice_view(0, 1, 2), 4), second);
  }
  EXPECT_THAT(categorical(Tensor::zeros({3, 1}, DType::bf16), 1, some_key).to_vector<int>(), ElementsAre(0, 0, 0));
  EXPECT_EQ(categorical(Tensor::zeros({0, 4}), 2, some_key).shape(), (Shape{0, 2}));
  const Tensor odd = Tensor::from(std::vector<float>{NAN, 1, never, never, INFINITY, 0}, {3, 2});
  for (const int drawn : categorical(odd, 50, some_key).to_vector<int>()) EXPECT_THAT(drawn, ::testing::AnyOf(0, 1));
}

TEST(Shuffle, GivesAllPermutationsEquallyOften) {
  std::vector<double> counts(24);
  for (std::uint64_t step = 0; step < 10'000; ++step) {
    const Tensor y = shuffle(Tensor::from(std::vector<int>{0, 1, 2, 3}, {4}), [=] { return RandomKey{.step = step}; });
    std::vector<int> order = y.to_vector<int>();
    std::size_t number = 0;  // of the permutation: its inversions, place by place
    for (std::size_t i = 0; i < 4; ++i) {
      std::size_t smaller = 0;
      for (std::size_t j = i + 1; j < 4; ++j) smaller += order[j] < order[i] ? 1 : 0;
      number = number * (4 - i) + smaller;
    }
    ++counts.at(number);
  }
  expect_likely(counts, std::vector<double>(24, 1 / 24.0));
}

TEST(RandomNumbers, NameWhatTheyDoNotTake) {
  const Tensor logits = Tensor::zeros({2, 3});
  EXPECT_ERROR(InvalidArgument, "uniform gives f32 or bf16, not i32", uniform({2}, 0, 1, some_key, DType::i32));
  EXPECT_ERROR(InvalidArgument, "uniform takes a finite range, got [1, 0)", uniform({2}, 1, 0, some_key));
  EXPECT_ERROR(InvalidArgument, "uniform takes a finite range, got [-1e+308, 1e+308)",
               uniform({2}, -1e308, 1e308, some_key));
  EXPECT_ERROR(InvalidArgument, "truncated_normal takes a finite mean and a stddev of at least 0, got 0 and -1",
               truncated_normal({2}, 0, -1, some_key));
  EXPECT_ERROR(InvalidArgument, "randint takes a range of i32, got [3, 3)", randint({2}, 3, 3, some_key));
  EXPECT_ERROR(InvalidArgument, "randint takes a range of u8, got [0, 257)", randint({2}, 0, 257, some_key, DType::u8));
  EXPECT_ERROR(InvalidArgument, "randint gives i32, i64 or u8, not f32", randint({2}, 0, 1, some_key, DType::f32));
  EXPECT_ERROR(InvalidArgument, "probabilities from 0 to 1, got 1 and 1.5", binomial({2}, 1, 1.5, some_key));
  EXPECT_ERROR(InvalidArgument, "categorical takes logits (rows, classes)", categorical(logits.view({6}), 1, some_key));
  EXPECT_ERROR(InvalidArgument, "a num_samples of at least 0, got -1", categorical(logits, -1, some_key));
}

}  // namespace
}  // namespace lockstep::test
