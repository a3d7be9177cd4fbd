#include <set>
#include <vector>

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace lockstep::test
