#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

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
using testing::ThrowsMessage;

class DatasetMap : public testing::TestWithParam<int> {
 protected:
  ComputeThreadsScope share_{GetParam()};
};

/// Negates x, and throws `E` for one value of x.
template <class E>
std::function<Example(const Example&)> failing_at(float x) {
  return [x](const Example& example) {
    if (example.x().item<float>() == x) throw E("not this one", std::source_location::current());
    return test::negated(example);
  };
}

TEST_P(DatasetMap, KeepsTheOrder) {
  const std::vector<float> values = read(numbers(101).map(test::negated));
  ASSERT_EQ(values.size(), 101U);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], -static_cast<float>(i));
}

TEST_P(DatasetMap, RunsOnceForEachElement) {
  std::atomic<int> calls{0};
  const Dataset set = numbers(37).map([&](const Example& example) {
    ++calls;
    return example;
  });
  EXPECT_EQ(calls, 0) << "before the pass";
  EXPECT_EQ(read(set).size(), 37U);
  EXPECT_EQ(calls, 37);
}

TEST_P(DatasetMap, WorksOnBatchesAfterBatch) {
  const Dataset set = numbers(5).batch(2).map([](const Batch& batch) {
    return Batch{{Tensor::full({1}, static_cast<double>(batch.size()))}, batch.targets};
  });
  EXPECT_THAT(read(set), ElementsAre(2, 2, 1));
}

TEST_P(DatasetMap, NamesTheElementThatFailedAndKeepsTheErrorsType) {
  DatasetIterator pass = numbers(10).map(failing_at<Unsupported>(6)).epoch();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(pass.next().value().x().item<float>(), -static_cast<float>(i));
  EXPECT_THAT([&] { pass.next(); }, ThrowsMessage<Unsupported>("map, element 6: not this one"));
  EXPECT_FALSE(pass.next()) << "a pass that failed is at its end";
}

TEST_P(DatasetMap, PutsAnInputErrorWithTheElementAroundOtherExceptions) {
  DatasetIterator pass = numbers(3).map([](const Example&) -> Example { throw std::runtime_error("plain"); }).epoch();
  try {
    (void)pass.next();
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "map, element 0: plain");
    EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
  }
  pass = numbers(3).map([](const Example&) -> Example { throw 42; }).epoch();
  EXPECT_THAT([&] { pass.next(); }, ThrowsMessage<InputError>("map, element 0: an exception of unknown type"));
}

TEST_P(DatasetMap, DeliversWhatCameBeforeAnErrorOfItsInput) {
  DatasetIterator pass = numbers(10).map(failing_at<InputError>(4)).map(test::negated).epoch();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pass.next().value().x().item<float>(), static_cast<float>(i));
  EXPECT_THAT([&] { pass.next(); }, ThrowsMessage<InputError>("map, element 4: not this one"));
}

TEST_P(DatasetMap, RunsInTheContextOfItsReader) {
  const ContextScope scope({.device = {DeviceKind::cpu, 7, 1}});
  for (const Example& example : numbers(8).map(test::negated).epoch()) EXPECT_EQ(example.x().device().name(), "CPU:7");
}

TEST_P(DatasetMap, StaysWithinTheReadersShare) {
  std::atomic<int> running{0};
  const Dataset set = numbers(16).map([&](const Example& example) {
    EXPECT_LE(++running, GetParam());
    EXPECT_EQ(compute_threads(), 1) << "an op within map has no more cores";
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --running;
    return example;
  });
  EXPECT_EQ(read(set).size(), 16U);
}

INSTANTIATE_TEST_SUITE_P(Threads, DatasetMap, testing::Values(1, 2, 4));

TEST_P(DatasetMap, TellsTheEpochAndTheNumberOfEachElement) {
  const Dataset placed = numbers(5).shuffle().map([](const Example&, const ElementId& id) {
    return Example{{Tensor::scalar(static_cast<float>(id.epoch) * 100 + static_cast<float>(id.number))}};
  });
  EXPECT_THAT(read(placed, 3), ElementsAre(300, 301, 302, 303, 304));
  EXPECT_THAT(read(placed.repeat(2).take(7), 1), ElementsAre(200, 201, 202, 203, 204, 300, 301));
}

TEST(DatasetMapFunction, IsRequired) {
  EXPECT_THROW((void)numbers(1).map(std::function<Example(const Example&)>()), InvalidArgument);
  EXPECT_THROW((void)numbers(1).map(std::function<Example(const Example&, const ElementId&)>()), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
