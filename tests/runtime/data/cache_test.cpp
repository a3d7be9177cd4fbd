#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/thread/parallel.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// Numbers and a counter of those that have been made.
struct CountedNumbers {
  std::shared_ptr<std::atomic<int>> made = std::make_shared<std::atomic<int>>(0);
  Dataset set = numbers(10).shuffle({.seed = 1}).map([count = made](const Example& element) {
    ++*count;
    return element;
  });
};

TEST(DatasetCache, MakesEachElementOnce) {
  const ComputeThreadsScope one(1);
  const CountedNumbers counted;
  const Dataset cached = counted.set.cache();
  const std::vector<float> first = read(cached, 5);
  EXPECT_EQ(first, read(counted.set, 0)) << "always epoch 0 of the input";
  *counted.made = 0;
  EXPECT_EQ(read(cached, 6), first);
  EXPECT_EQ(read(cached.batch(3).repeat(2)).size(), 20U);
  EXPECT_EQ(*counted.made, 0);
  EXPECT_EQ(read(counted.set.cache()), first);
  EXPECT_EQ(*counted.made, 10) << "another cache";
}

TEST(DatasetCache, KeepsWhatAnUnfinishedPassHasMade) {
  const ComputeThreadsScope one(1);
  const CountedNumbers counted;
  const Dataset cached = counted.set.cache();
  EXPECT_EQ(read(cached.skip(2).take(3)).size(), 3U);
  EXPECT_EQ(*counted.made, 3);
  EXPECT_EQ(read(cached), read(counted.set, 0));
  EXPECT_EQ(*counted.made, 10 + 10);
}

TEST(DatasetCache, KnowsItsInputsSize) {
  const Dataset some = numbers(6).filter([](const Example& e) { return e.x().item<float>() > 2; }).cache();
  EXPECT_EQ(numbers(6).cache().size(), 6);
  EXPECT_EQ(some.size(), std::nullopt);
  for (int pass = 0; pass < 2; ++pass) EXPECT_THAT(read(some.skip(1)), ElementsAre(4, 5));
  EXPECT_THAT(read(some.skip(9)), IsEmpty());
  EXPECT_THAT([] { (void)numbers(6).repeat().cache(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("call cache() before repeat()")));
}

TEST(DatasetCache, ServesPassesOfSeveralThreads) {
  const CountedNumbers counted;
  const Dataset cached = counted.set.cache();
  const std::vector<float> expected = read(counted.set, 0);
  std::vector<std::vector<float>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& values : found) threads.emplace_back([&] { values = read(cached); });
  }
  EXPECT_THAT(found, testing::Each(expected));
}

}  // namespace
}  // namespace lockstep
