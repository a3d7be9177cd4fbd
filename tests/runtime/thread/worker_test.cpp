#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/runtime/thread/worker.h>

namespace lockstep {
namespace {

const ExecutionContext context{.device = {DeviceKind::cpu, 1, 3}, .replica = 1, .replicas = 2};

TEST(Worker, RunsEveryJobOnOneThreadOfItsOwn) {
  Worker worker(context);
  std::vector<std::thread::id> ids(5);
  for (std::thread::id& id : ids) {
    worker.submit([&] { id = std::this_thread::get_id(); });
    EXPECT_EQ(worker.wait(), nullptr);
  }
  EXPECT_NE(ids.front(), std::this_thread::get_id());
  EXPECT_THAT(ids, testing::Each(ids.front()));
}

TEST(Worker, HasItsContextAndItsShareOfTheCores) {
  Worker worker(context);
  worker.submit([] {
    EXPECT_EQ(current_context().device.name(), "CPU:1");
    EXPECT_EQ(current_context().replica, 1);
    EXPECT_EQ(compute_threads(), 3);
  });
  EXPECT_EQ(worker.wait(), nullptr);
}

TEST(Worker, HandsOverAnExceptionOnce) {
  Worker worker(context);
  worker.submit([] { fail<Unsupported>("no such op"); });
  const std::exception_ptr error = worker.wait();
  EXPECT_THAT([&] { std::rethrow_exception(error); }, testing::ThrowsMessage<Unsupported>("no such op"));
  EXPECT_EQ(worker.wait(), nullptr);
}

TEST(Worker, GoesOnAfterAnException) {
  Worker worker(context);
  worker.submit([] { throw std::runtime_error("first"); });
  EXPECT_NE(worker.wait(), nullptr);
  bool ran = false;
  worker.submit([&] { ran = true; });
  EXPECT_EQ(worker.wait(), nullptr);
  EXPECT_TRUE(ran);
}

TEST(Worker, RefusesAJobBeforeItsLastOneWasWaitedFor) {
  Worker worker(context);
  std::promise<void> release;
  worker.submit([&] { release.get_future().wait(); });
  EXPECT_THROW(worker.submit([] {}), BrokenInvariant);
  release.set_value();
  EXPECT_EQ(worker.wait(), nullptr);
}

TEST(Worker, FinishesTheJobInHandWhenDestroyed) {
  std::atomic<bool> finished{false};
  {
    Worker worker(context);
    worker.submit([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      finished = true;
    });
  }
  EXPECT_TRUE(finished);
}

TEST(Worker, ReleasesWhatAJobHeldBeforeWaitReturns) {
  Worker worker(context);
  const auto held = std::make_shared<int>(0);
  worker.submit([held] {});
  worker.wait();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace lockstep
