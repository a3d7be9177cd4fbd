#include <atomic>
#include <chrono>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/strategy/comm/cluster/launcher.h>

#include "input_testing.h"

// Effects of preparing batches in the background: where errors are reported, and what remains when a pass is dropped.

namespace lockstep {
namespace {

using test::mirrored;
using test::range;
using test::steps_of;
using testing::HasSubstr;

/// A data set that counts the examples it has produced.
struct Counted {
  std::shared_ptr<std::atomic<int>> made = std::make_shared<std::atomic<int>>(0);

  Dataset set(std::int64_t n) const {
    return range(n).map([made = made](const Example& example) {
      ++*made;
      return example;
    });
  }
  /// Returns when `count` examples have been produced; hangs, and so fails, if they never are.
  void wait_for(int count) const {
    while (*made < count) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
};

// semantics 6.9: two ahead, where TensorFlow buffers one
TEST(BackgroundInput, IsTwoBatchesAheadUnlessToldOtherwise) {
  const Counted counted;
  const DistributedIterator pass = mirrored(2).distribute(counted.set(40).batch(4)).epoch();
  counted.wait_for(12);                                       // two in the buffers, one with the reader
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // enough time for an unbounded producer to continue
  EXPECT_EQ(*counted.made, 12);
}

// semantics 6.8: per_replica_buffer_size
TEST(BackgroundInput, CanBeSwitchedOff) {
  const Counted counted;
  const std::thread::id caller = std::this_thread::get_id();
  const Dataset batches = counted.set(12).batch(4).map([&](const Batch& batch) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return batch;
  });
  const ComputeThreadsScope one(1);  // otherwise map would use other threads, too
  DistributedIterator pass = mirrored(2).distribute(batches, {.per_replica_buffer_size = 0}).epoch();
  EXPECT_EQ(*counted.made, 0);
  (void)pass.next();
  EXPECT_EQ(*counted.made, 4);
}

TEST(BackgroundInput, APassDroppedInTheMiddleEndsItsThread) {
  const Counted counted;
  {
    DistributedIterator pass = mirrored(3).distribute(counted.set(3).repeat().batch(4)).epoch();
    (void)pass.next();
    counted.wait_for(8);
  }
  // If the thread outlived the iterator, it would hold the counter.
  EXPECT_EQ(counted.made.use_count(), 1);
}

TEST(BackgroundInput, AStrategyMayGoBeforeAPassOverItsData) {
  DistributedIterator pass = mirrored(2).distribute(range(40).batch(4)).epoch();
  EXPECT_EQ(steps_of(pass).size(), 10U);
}

class MapErrors : public testing::TestWithParam<std::int64_t> {
 protected:
  /// Throws at example 13 while `broken_` is set.
  template <class Throw>
  DistributedDataset failing(Throw throw_it) {
    const Dataset data = range(20).map([this, throw_it](const Example& example) {
      if (broken_ && example.x().item<float>() == 13) throw_it();
      return example;
    });
    return strategy_.distribute(data.batch(4), {.per_replica_buffer_size = GetParam()});
  }

  std::atomic<bool> broken_{true};
  const MirroredStrategy strategy_ = mirrored(3);
};

// Exceptions of the user's map function reach the caller with the example's number.
TEST_P(MapErrors, ReachTheCallerWithTheExamplesNumberAfterTheBatchesBefore) {
  const DistributedDataset data = failing([] { fail<Unsupported>("an unknown color"); });
  DistributedIterator pass = data.epoch();
  for (int step = 0; step < 3; ++step) EXPECT_EQ(pass.next()->global_size(), 4);
  EXPECT_ERROR(Unsupported, "map, element 13: an unknown color", pass.next());
  EXPECT_FALSE(pass.next().has_value());
}

TEST_P(MapErrors, OfOtherTypesBecomeInputErrorsAroundThem) {
  const DistributedDataset data = failing([] { throw std::out_of_range("no such pixel"); });
  DistributedIterator pass = data.epoch();
  for (int step = 0; step < 3; ++step) (void)pass.next();
  try {
    (void)pass.next();
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("map, element 13: no such pixel"));
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  }
}

TEST_P(MapErrors, DoNotSpoilALaterEpoch) {
  const DistributedDataset data = failing([] { throw std::out_of_range("no such pixel"); });
  DistributedIterator pass = data.epoch();
  EXPECT_THROW((void)steps_of(pass), InputError);
  broken_ = false;
  pass.begin_epoch(1);
  EXPECT_EQ(steps_of(pass).size(), 5U);
  EXPECT_EQ(steps_of(data).size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Buffers, MapErrors, testing::Values(0, 1, 2));

/// Collects the library's warnings during its lifetime.
class Warnings {
 public:
  Warnings() : before_(spdlog::get("lockstep")) {
    spdlog::drop("lockstep");
    spdlog::register_logger(
        std::make_shared<spdlog::logger>("lockstep", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~Warnings() {
    spdlog::drop("lockstep");
    if (before_) spdlog::register_logger(before_);
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::string text() const { return text_.str(); }

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

// semantics 6.6: "rows lost without a word": warn once, count dropped rows.
TEST(DroppedRows, AreCountedAndWarnedOfOnce) {
  const Warnings warnings;
  const DistributedDataset data = mirrored(2).distribute(range(11).batch(4, /*drop_remainder=*/true));
  EXPECT_EQ(data.dropped_rows(), 3);
  EXPECT_EQ(data.size(), 2);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(steps_of(data, epoch).size(), 2U);
  const std::string text = warnings.text();
  EXPECT_THAT(text, HasSubstr("drop_remainder leaves 3 example(s) out"));
  EXPECT_EQ(text.find("drop_remainder"), text.rfind("drop_remainder"));
}

TEST(DroppedRows, AreNoneWhenAllRowsAreUsed) {
  const Warnings warnings;
  EXPECT_EQ(mirrored(2).distribute(range(12).batch(4, true)).dropped_rows(), 0);
  EXPECT_EQ(mirrored(2).distribute(range(11).batch(4)).dropped_rows(), 0);
  EXPECT_EQ(warnings.text(), "");
}

TEST(DroppedRows, OfAFunctionsDataSetsAreAddedUp) {
  const Warnings warnings;
  const DistributedDataset data = mirrored(3).distribute_from_function(
      [](const InputContext& context) { return range(5 + context.input_pipeline_id).batch(4, true); },
      {.replication_mode = ReplicationMode::per_replica});
  EXPECT_EQ(data.dropped_rows(), 1 + 2 + 3);
  EXPECT_THAT(warnings.text(), HasSubstr("leaves 6 example(s) out"));
}

TEST(BackgroundInput, HasTheCoresThatReplicasLeave) {
  const LogicalDevice cpu{DeviceKind::cpu, 0, 3};
  const LogicalDevice gpu{DeviceKind::gpu, 0};
  const auto all_of = [](const LogicalDevice& device, int count) {
    return std::vector<LogicalDevice>(static_cast<std::size_t>(count), device);
  };
  EXPECT_EQ(input_threads(all_of(gpu, 8), 64), 56);
  EXPECT_EQ(input_threads(all_of(gpu, 8), 4), 1);
  EXPECT_EQ(input_threads(all_of(cpu, 4), 12), 1);
  EXPECT_EQ(input_threads(all_of(cpu, 4), 10), 1);
  EXPECT_EQ(input_threads(all_of(cpu, 2), 16), 10);
  EXPECT_EQ(input_threads(std::vector{cpu, gpu}, 16), 12);
}

// Covers both kinds of background work: the strategy's and the data set's.
TEST(BackgroundInput, IsMadeOnThatManyThreads) {
  const MirroredStrategy strategy = mirrored(2);
  std::vector<int> threads;
  const auto ones = [&](std::uint64_t) -> DatasetIterator {
    return [&]() -> std::optional<Example> {
      threads.push_back(compute_threads());
      return Example{{Tensor::full({2}, 1)}};
    };
  };
  DistributedIterator pass = strategy.distribute(Dataset::from_generator(ones, 2).prefetch()).epoch();
  while (pass.next()) {
  }
  const int expected = input_threads(strategy.devices(), cores_of_process());
  EXPECT_THAT(threads, testing::ElementsAre(expected, expected));
}

}  // namespace
}  // namespace lockstep
