#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/parallel.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ThrowsMessage;

/// A data set that counts the elements it has produced.
struct Counted {
  std::shared_ptr<std::atomic<int>> made = std::make_shared<std::atomic<int>>(0);

  Dataset set(std::int64_t n) const {
    return numbers(n).map([made = made](const Example& example) {
      ++*made;
      return test::negated(example);
    });
  }
  /// Returns when the producer has produced `count` elements; hangs, and so fails, if it never does.
  void wait_for(int count) const {
    while (*made < count) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
};

TEST(DatasetPrefetch, GivesTheSameElements) {
  for (const std::int64_t ahead : {1, 2, 100}) {
    EXPECT_EQ(read(numbers(50).shuffle().prefetch(ahead), 3), read(numbers(50).shuffle(), 3));
    EXPECT_EQ(read(numbers(50).batch(7).prefetch(ahead)), read(numbers(50)));
  }
  EXPECT_THROW((void)numbers(2).prefetch(0), InvalidArgument);
}

TEST(DatasetPrefetch, WorksAheadUnasked) {
  const Counted counted;
  const DatasetIterator pass = counted.set(10).prefetch(3).epoch();
  counted.wait_for(3);
}

TEST(DatasetPrefetch, WorksAheadByItsCountAndTheElementInHand) {
  const Counted counted;
  DatasetIterator pass = counted.set(100).prefetch(3).epoch();
  for (int taken = 0; taken < 20; ++taken) {
    counted.wait_for(taken + 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // enough time for an unbounded producer to continue
    EXPECT_EQ(*counted.made, taken + 4);
    (void)pass.next();
  }
}

TEST(DatasetPrefetch, ProducesOnOneCoreInTheContextOfItsReader) {
  const ContextScope scope({.device = {DeviceKind::cpu, 6, 2}});
  const std::thread::id reader = std::this_thread::get_id();
  const Dataset set = numbers(4).map([&](const Example& example) {
    EXPECT_NE(std::this_thread::get_id(), reader);
    EXPECT_EQ(compute_threads(), 1);
    EXPECT_EQ(current_context().device.name(), "CPU:6");
    return example;
  });
  EXPECT_EQ(read(set.prefetch()).size(), 4U);
}

TEST(DatasetPrefetch, AnExceptionReachesTheReaderAfterTheElementsBeforeIt) {
  const Dataset set = numbers(9).map([](const Example& example) {
    require<InputError>(example.x().item<float>() != 5, "cannot be decoded");
    return example;
  });
  DatasetIterator pass = set.prefetch(2).epoch();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pass.next().value().x().item<float>(), i);
  EXPECT_THAT([&] { pass.next(); }, ThrowsMessage<InputError>("map, element 5: cannot be decoded"));
  EXPECT_FALSE(pass.next());
}

TEST(DatasetPrefetch, AReaderThatStopsEarlyStopsTheProducer) {
  const Counted counted;
  {
    DatasetIterator pass = counted.set(1000).prefetch(2).epoch();
    (void)pass.next();
    counted.wait_for(4);
  }
  // If the thread outlived the iterator, it would continue and hold the counter.
  EXPECT_EQ(*counted.made, 4);
  EXPECT_EQ(counted.made.use_count(), 1);
}

TEST(DatasetPrefetch, StopsEarlyOnASetWithoutEnd) {
  const Counted counted;
  { (void)counted.set(3).repeat().prefetch(2).prefetch(2).epoch().next(); }
  EXPECT_EQ(counted.made.use_count(), 1);
}

TEST(DatasetPrefetch, AnUnreadExceptionIsDropped) {
  const Counted counted;
  const Dataset set = numbers(9).map([made = counted.made](const Example&) -> Example {
    ++*made;
    throw std::runtime_error("nobody asks");
  });
  {
    const DatasetIterator pass = set.prefetch().epoch();
    counted.wait_for(1);
  }
  EXPECT_EQ(*counted.made, 1);
}

TEST(DatasetPrefetch, AsksTheSystemForNothingAfterWarmUp) {
  const Counted counted;
  constexpr int batches = 10;
  constexpr int ahead = 2;
  const Dataset set = numbers(40)
                          .shuffle()
                          .batch(4)
                          .map([made = counted.made](const Batch& batch) {
                            ++*made;
                            return Batch{{Tensor::full(batch.x().shape(), 1)}, batch.targets};
                          })
                          .prefetch(ahead);
  // The producer runs ahead as far as it can, while the reader keeps `kept` batches.
  const auto run = [&](std::uint64_t epoch, std::size_t kept) {
    const int before = *counted.made;
    DatasetIterator pass = set.epoch(epoch);
    std::deque<Batch> held;
    for (int taken = 0; taken < batches; ++taken) {
      counted.wait_for(before + std::min(batches, taken + ahead + 1));
      held.push_back(pass.next().value());
      if (held.size() > kept) held.pop_front();
    }
  };
  run(0, 5);  // more than the other runs can need, whatever the timing of their threads
  const std::uint64_t after_warm_up = allocator({}).stats().system_allocations;
  for (std::uint64_t epoch = 1; epoch < 5; ++epoch) run(epoch, 1);
  EXPECT_EQ(allocator({}).stats().system_allocations, after_warm_up);
}

}  // namespace
}  // namespace lockstep
