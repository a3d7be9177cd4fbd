#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// Counts up from 100 times the epoch; ends after `count` numbers.
Dataset counting(std::int64_t count, std::optional<std::int64_t> size = std::nullopt) {
  const auto make = [count](std::uint64_t epoch) -> DatasetIterator {
    return [count, first = static_cast<float>(epoch) * 100, i = std::int64_t{0}]() mutable -> std::optional<Example> {
      if (i == count) return std::nullopt;
      return Example{{Tensor::scalar(first + static_cast<float>(i++))}};
    };
  };
  return Dataset::from_generator(make, size);
}

TEST(DatasetGenerator, StartsAnewInEachPass) {
  const Dataset set = counting(3);
  EXPECT_THAT(read(set), ElementsAre(0, 1, 2));
  EXPECT_THAT(read(set), ElementsAre(0, 1, 2));
  EXPECT_THAT(read(set, 2), ElementsAre(200, 201, 202));
  EXPECT_THAT(read(set.repeat(2)), ElementsAre(0, 1, 2, 100, 101, 102));
}

TEST(DatasetGenerator, FeedsTheOtherStages) {
  EXPECT_THAT(test::batch_sizes(counting(5).batch(2).prefetch()), ElementsAre(2, 2, 1));
  EXPECT_THAT(read(counting(4).map(test::negated)), ElementsAre(0, -1, -2, -3));
  EXPECT_THAT(read(counting(4).shuffle({.buffer = 1})), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT([] { (void)counting(4).shuffle(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("of unbounded size, as of a generator without a size")));
}

TEST(DatasetGenerator, HasTheSizeThatIsTold) {
  EXPECT_EQ(counting(3).size(), std::nullopt);
  EXPECT_EQ(counting(3, 3).size(), 3);
  EXPECT_EQ(counting(4, 4).batch(3).size(), 2);
  constexpr std::int64_t endless = -1;
  EXPECT_THAT(read(counting(endless, 3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(read(counting(endless, 0)), IsEmpty());
  EXPECT_THAT(read(counting(endless).take(2)), ElementsAre(0, 1));
}

TEST(DatasetGenerator, MayNotEndBeforeItsSize) {
  DatasetIterator pass = counting(2, 3).epoch();
  EXPECT_TRUE(pass.next());
  EXPECT_TRUE(pass.next());
  EXPECT_THAT(
      [&] { pass.next(); },
      ThrowsMessage<InputError>("from_generator: the generator ended after 2 element(s), but its size was given as 3"));
  EXPECT_FALSE(pass.next());
}

TEST(DatasetGenerator, IsNotCalledAgainAfterItsEnd) {
  int calls = 0;
  const Dataset set = Dataset::from_generator([&](std::uint64_t) -> DatasetIterator {
    return [&]() -> std::optional<Example> {
      ++calls;
      return std::nullopt;
    };
  });
  EXPECT_THAT(read(set.batch(2)), IsEmpty());
  EXPECT_EQ(calls, 1);
}

/// Throws `error` instead of its second element.
template <class E>
Dataset failing(E error) {
  return Dataset::from_generator([error](std::uint64_t) -> DatasetIterator {
    return [error, i = 0]() mutable -> std::optional<Example> {
      if (i++ == 1) throw error;
      return Example{{Tensor::scalar(0.0F)}};
    };
  });
}

TEST(DatasetGenerator, NamesTheElementThatFailed) {
  for (const Dataset& set :
       {failing(std::runtime_error("no more disk")), failing(std::runtime_error("no more disk")).prefetch()}) {
    DatasetIterator pass = set.epoch();
    EXPECT_TRUE(pass.next());
    EXPECT_THAT([&] { pass.next(); }, ThrowsMessage<InputError>("from_generator, element 1: no more disk"));
    EXPECT_FALSE(pass.next());
  }
  const Unsupported error("not so", std::source_location::current());
  EXPECT_THAT([&] { read(failing(error)); }, ThrowsMessage<Unsupported>("from_generator, element 1: not so"));
}

TEST(DatasetGenerator, RefusesWhatIsNone) {
  EXPECT_THROW((void)Dataset::from_generator(nullptr), InvalidArgument);
  EXPECT_THROW((void)counting(1, -1), InvalidArgument);
  const Dataset none = Dataset::from_generator([](std::uint64_t) { return DatasetIterator(); });
  EXPECT_THAT([&] { (void)none.epoch(4); }, ThrowsMessage<InvalidArgument>(HasSubstr("pass 4")));
  const Dataset undefined = Dataset::from_generator(
      [](std::uint64_t) -> DatasetIterator { return []() -> std::optional<Example> { return Example{}; }; });
  EXPECT_THAT([&] { read(undefined); },
              ThrowsMessage<InvalidArgument>("from_generator, element 0: the generator returned an Example without x; "
                                             "to end, it must return std::nullopt"));
}

}  // namespace
}  // namespace lockstep
