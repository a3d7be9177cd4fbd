#include <optional>

#include <gtest/gtest.h>

#include <lockstep/runtime/thread/background_queue.h>

namespace lockstep {
namespace {

TEST(BackgroundQueue, ComputesInTheContextOfItsMaker) {
  ExecutionContext context = current_context();
  context.replica = 5;
  context.ahead_threads = 3;
  const ContextScope scope(context);
  int replica = -1;
  BackgroundQueue<int> queue(1, [&]() -> std::optional<int> {
    replica = current_context().replica;
    return compute_threads();
  });
  EXPECT_EQ(queue.next(), 3);
  EXPECT_EQ(replica, 5);
}

TEST(BackgroundQueue, LeavesTheOtherCoresToOthersUnlessToldOtherwise) {
  BackgroundQueue<int> queue(1, []() -> std::optional<int> { return compute_threads(); });
  EXPECT_EQ(queue.next(), 1);
}

}  // namespace
}  // namespace lockstep
