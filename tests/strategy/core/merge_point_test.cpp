#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/core/merge_point.h>

namespace lockstep {
namespace {

// A replica that times out or runs out of memory leaves, and unwinds its stack, while replica 0 still merges.
TEST(MergePoint, KeepsWhatAReplicaHasBroughtThatLeavesMeanwhile) {
  ReplicaGroup group(2, std::chrono::minutes(1));
  MergePoint point(group);
  std::atomic<bool> has_left = false;
  std::thread other([&] {
    const auto never = [](std::span<const MergePoint::Post>) { return nullptr; };
    EXPECT_THROW(point.merge(1, "here", std::make_shared<std::string>("of replica 1"), never), Aborted);
    has_left = true;
  });
  std::string merged;
  const auto merge = [&](std::span<const MergePoint::Post> posts) {
    group.rendezvous().abort(0, "time is up");
    while (!has_left) std::this_thread::yield();
    merged = *static_cast<const std::string*>(posts[1].get());
    return nullptr;
  };
  EXPECT_THROW(point.merge(0, "here", std::make_shared<std::string>("of replica 0"), merge), Aborted);
  other.join();
  EXPECT_EQ(merged, "of replica 1");
}

TEST(MergePoint, KeepsNothingAfterIt) {
  ReplicaGroup group(1, std::chrono::minutes(1));
  MergePoint point(group);
  const auto post = std::make_shared<int>(1);
  const auto result = std::make_shared<const int>(2);
  point.merge(0, "here", post, [&](std::span<const MergePoint::Post>) { return result; });
  EXPECT_EQ(post.use_count(), 1);
  const auto failing = [](std::span<const MergePoint::Post>) -> std::shared_ptr<const void> { throw std::bad_alloc(); };
  EXPECT_THROW(point.merge(0, "here", post, failing), std::bad_alloc);
  point.abandon_step();
  EXPECT_EQ(post.use_count(), 1);
  EXPECT_EQ(result.use_count(), 1);
}

}  // namespace
}  // namespace lockstep
