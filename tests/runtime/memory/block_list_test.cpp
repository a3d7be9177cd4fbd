#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/runtime/memory/block_list.h>

namespace lockstep {
namespace {

using Excess = BlockList::Excess;

/// Fake addresses: the list never accesses the memory.
std::byte* at(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

BlockList list_of(std::size_t bytes) {
  BlockList list;
  list.add_segment(at(1000), bytes);
  return list;
}

TEST(BlockList, HasNothingAtFirst) {
  BlockList list;
  EXPECT_FALSE(list.take(1, Excess::cut));
  EXPECT_EQ(list.end(), nullptr);
  EXPECT_EQ(list.free_at_end(), 0U);
  EXPECT_FALSE(list.take_free_segment());
}

TEST(BlockList, CutsWhatIsLongerThanNeeded) {
  BlockList list = list_of(100);
  const auto first = list.take(30, Excess::cut).value();
  const auto second = list.take(70, Excess::cut).value();
  EXPECT_EQ(first->data, at(1000));
  EXPECT_EQ(second->data, at(1030));
  EXPECT_EQ(second->bytes, 70U);
  EXPECT_FALSE(list.take(1, Excess::cut));
}

TEST(BlockList, TakesTheSmallestThatIsLongEnoughAndOfThoseTheFirst) {
  BlockList list = list_of(100);
  std::vector<BlockList::Position> blocks;
  for (const std::size_t bytes : {20, 5, 10, 5, 10, 50}) blocks.push_back(list.take(bytes, Excess::cut).value());
  for (const int free : {0, 4, 2}) list.give_back(blocks[static_cast<std::size_t>(free)]);
  EXPECT_EQ(list.take(8, Excess::cut).value()->data, at(1025));
  EXPECT_EQ(list.take(8, Excess::cut).value()->data, at(1040));
  EXPECT_EQ(list.take(8, Excess::cut).value()->data, at(1000));
}

TEST(BlockList, FreeNeighboursBecomeOne) {
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    BlockList list = list_of(90);
    std::vector<BlockList::Position> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(list.take(30, Excess::cut).value());
    for (const int block : order) {
      EXPECT_FALSE(list.take(90, Excess::cut));
      list.give_back(blocks[static_cast<std::size_t>(block)]);
    }
    EXPECT_EQ(list.take(90, Excess::cut).value()->data, at(1000));
  }
}

TEST(BlockList, BlocksOfDifferentSegmentsStayApart) {
  BlockList list = list_of(50);
  list.add_segment(at(1050), 50);
  EXPECT_FALSE(list.take(51, Excess::cut));
  EXPECT_EQ(list.take_free_segment().value(), (std::pair<void*, std::size_t>(at(1000), 50)));
  EXPECT_EQ(list.take_free_segment().value(), (std::pair<void*, std::size_t>(at(1050), 50)));
  EXPECT_FALSE(list.take_free_segment());
}

TEST(BlockList, SegmentsInUseAreNotGivenAway) {
  BlockList list = list_of(50);
  list.give_back(list.take(10, Excess::cut).value());
  const auto block = list.take(10, Excess::cut).value();
  EXPECT_FALSE(list.take_free_segment());
  list.give_back(block);
  EXPECT_EQ(list.take_free_segment().value().second, 50U);
}

TEST(BlockList, TheLastSegmentGoesOn) {
  BlockList list = list_of(50);
  const auto block = list.take(40, Excess::cut).value();
  EXPECT_EQ(list.end(), at(1050));
  EXPECT_EQ(list.free_at_end(), 10U);
  list.extend(20);
  EXPECT_EQ(list.free_at_end(), 30U);
  const auto rest = list.take(30, Excess::cut).value();
  EXPECT_EQ(list.free_at_end(), 0U);
  list.extend(5);
  EXPECT_EQ(list.free_at_end(), 5U);
  EXPECT_EQ(list.end(), at(1075));
  list.give_back(block);
  list.give_back(rest);
  EXPECT_EQ(list.take_free_segment().value().second, 75U);
}

TEST(BlockList, WholeBlocksAreKeptUpToAnEighth) {
  BlockList list = list_of(90);
  EXPECT_FALSE(list.take(79, Excess::keep));
  EXPECT_EQ(list.take(80, Excess::keep).value()->bytes, 90U);
}

TEST(BlockList, NoBytesAreHandedOutTwiceOrLost) {
  constexpr std::size_t segment = 10'000;
  BlockList list;
  list.add_segment(at(1000), segment);
  std::size_t all = segment;
  std::mt19937 random(7);
  std::map<std::byte*, BlockList::Position> live;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 2 == 0 && !live.empty()) {
      const auto chosen = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      list.give_back(chosen->second);
      live.erase(chosen);
      continue;
    }
    const std::size_t bytes = 1 + random() % 300;
    auto block = list.take(bytes, Excess::cut);
    if (!block) {
      list.extend(bytes);
      all += bytes;
      block = list.take(bytes, Excess::cut);
    }
    ASSERT_EQ((*block)->bytes, bytes);
    const auto [place, added] = live.emplace((*block)->data, *block);
    ASSERT_TRUE(added);
    if (place != live.begin()) {
      ASSERT_LE(std::prev(place)->first + std::prev(place)->second->bytes, place->first);
    }
    if (std::next(place) != live.end()) {
      ASSERT_LE(place->first + bytes, std::next(place)->first);
    }
  }
  for (const auto& [data, block] : live) list.give_back(block);
  EXPECT_EQ(list.take_free_segment().value().second, all);
}

}  // namespace
}  // namespace lockstep
