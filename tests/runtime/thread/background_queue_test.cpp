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
  struct Context {
    int replica;
    int threads;
  };
  BackgroundQueue<Context> queue(1, []() -> std::optional<Context> {
    return Context{.replica = current_context().replica, .threads = compute_threads()};
  });
  const std::optional<Context> produced = queue.next();
  ASSERT_TRUE(produced);
  EXPECT_EQ(produced->replica, 5);
  EXPECT_EQ(produced->threads, 3);
}

TEST(BackgroundQueue, LeavesTheOtherCoresToOthersUnlessToldOtherwise) {
  BackgroundQueue<int> queue(1, []() -> std::optional<int> { return compute_threads(); });
  EXPECT_EQ(queue.next(), 1);
}

}  // namespace
}  // namespace lockstep
