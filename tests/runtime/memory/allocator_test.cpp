#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {
namespace {

/// A memory resource with limited memory that cannot extend blocks, like a GPU's, and counts its calls.
class LimitedMemory final : public MemoryResource {
 public:
  explicit LimitedMemory(std::size_t limit) : limit_(limit) {}

  void* allocate(std::size_t bytes) override {
    if (given_ + bytes > limit_) fail<OutOfMemory>("only {} bytes", limit_);
    given_ += bytes;
    ++calls_;
    return std::malloc(bytes);
  }
  void release(void* memory, std::size_t bytes) noexcept override {
    given_ -= bytes;
    std::free(memory);
  }
  void settle(void*) noexcept override { ++settled_; }
  std::size_t given() const { return given_; }
  int calls() const { return calls_; }
  int settled() const { return settled_; }

 private:
  std::size_t limit_;
  std::atomic<std::size_t> given_{0};
  std::atomic<int> calls_{0};
  std::atomic<int> settled_{0};
};

constexpr std::size_t megabyte = 1 << 20;

struct Allocator : testing::Test {
  LimitedMemory system{8 * megabyte};
  std::shared_ptr<CachingAllocator> allocator =
      std::make_shared<CachingAllocator>(LogicalDevice{.kind = DeviceKind::gpu}, system);
};

TEST_F(Allocator, ReusesAFreedBlock) {
  const void* first = allocator->allocate(1000)->data();
  const auto again = allocator->allocate(1000);
  EXPECT_EQ(again->data(), first);
  EXPECT_EQ(system.calls(), 1);
}

TEST_F(Allocator, MemorySettlesWhenItIsHandedOutAgainAndAgain) {
  const auto use_twice = [&](std::size_t bytes) {
    for (int i = 0; i < 2; ++i) (void)allocator->allocate(bytes);
  };
  use_twice(megabyte);
  EXPECT_EQ(system.settled(), 0) << "after its first step";
  for (int i = 0; i < 20; ++i) use_twice(megabyte);
  EXPECT_EQ(system.settled(), 1);
  use_twice(2 * megabyte);
  EXPECT_EQ(system.settled(), 1) << "new memory, which has not been used often yet";
  for (int i = 0; i < 20; ++i) use_twice(2 * megabyte);
  EXPECT_EQ(system.settled(), 2);
}

TEST_F(Allocator, NearbySizesShareBlocksAndWasteLittle) {
  for (const std::size_t bytes : {1, 512, 513, 575, 576, 577, 1023, 1024, 1025, 100'000, 1 << 20}) {
    const auto block = allocator->allocate(bytes);
    EXPECT_GE(block->bytes(), bytes);
    EXPECT_LE(block->bytes(), bytes + std::max<std::size_t>(600, bytes / 8));
  }
  const int calls = system.calls();
  (void)allocator->allocate(99'000);  // reuses the place of the 100,000 bytes
  EXPECT_EQ(system.calls(), calls);
}

TEST_F(Allocator, AsksForNothingAfterWarmUp) {
  const auto step = [&] {
    std::vector<std::shared_ptr<Buffer>> live;
    for (const std::size_t bytes : {100, 5000, 70'000, 5000, 100}) live.push_back(allocator->allocate(bytes));
  };
  step();
  const std::uint64_t after_warm_up = allocator->stats().system_allocations;
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(allocator->stats().system_allocations, after_warm_up);
  EXPECT_EQ(after_warm_up, static_cast<std::uint64_t>(system.calls()));
}

TEST_F(Allocator, CountsWhatIsInUseAndItsPeak) {
  {
    const auto a = allocator->allocate(4096);
    const auto b = allocator->allocate(8192);
    EXPECT_EQ(allocator->stats().bytes_in_use, 4096U + 8192U);
  }
  EXPECT_EQ(allocator->stats().bytes_in_use, 0U);
  EXPECT_EQ(allocator->stats().bytes_peak, 4096U + 8192U);
  EXPECT_EQ(allocator->stats().bytes_reserved, 4096U + 8192U);
  allocator->reset_peak();
  EXPECT_EQ(allocator->stats().bytes_peak, 0U);
}

TEST_F(Allocator, ReleaseGivesBackOnlyWhatIsNotInUse) {
  const auto used = allocator->allocate(4096);
  (void)allocator->allocate(8192);
  allocator->release_cache();
  EXPECT_EQ(allocator->stats().bytes_reserved, 4096U);
  EXPECT_EQ(system.given(), 4096U);
}

TEST_F(Allocator, ReleasesItsCacheBeforeItGivesUp) {
  (void)allocator->allocate(6 * megabyte);
  EXPECT_NO_THROW((void)allocator->allocate(7 * megabyte));
  EXPECT_EQ(system.given(), 7 * megabyte);
}

TEST_F(Allocator, StaysUsableAfterOutOfMemory) {
  EXPECT_THROW((void)allocator->allocate(9 * megabyte), OutOfMemory);
  EXPECT_EQ(allocator->stats().bytes_in_use, 0U);
  EXPECT_NO_THROW((void)allocator->allocate(megabyte));
}

TEST_F(Allocator, BlocksOutliveTheAllocatorsOwner) {
  const auto block = allocator->allocate(100);
  allocator.reset();
  std::fill_n(static_cast<char*>(block->data()), 100, 'x');
  EXPECT_EQ(system.given(), 512U);
}

TEST_F(Allocator, GivesEachThreadItsOwnBlocks) {
  constexpr int threads = 4;
  std::atomic<int> overwritten{0};
  const auto work = [&](int id) {
    for (int round = 0; round < 2000; ++round) {
      const auto block = allocator->allocate(static_cast<std::size_t>(512 + 64 * (round % 5)));
      auto* bytes = static_cast<unsigned char*>(block->data());
      std::fill_n(bytes, block->bytes(), static_cast<unsigned char>(id));
      overwritten += static_cast<int>(block->bytes()) - static_cast<int>(std::count(bytes, bytes + block->bytes(), id));
    }
  };
  {
    std::vector<std::jthread> running;
    for (int id = 0; id < threads; ++id) running.emplace_back(work, id);
  }
  EXPECT_EQ(overwritten, 0);
  EXPECT_EQ(allocator->stats().bytes_in_use, 0U);
  EXPECT_EQ(allocator->stats().bytes_reserved, system.given());
}

TEST_F(Allocator, RefusesWhatPassesItsLimit) {
  allocator->set_memory_limit(2 * megabyte);
  const auto used = allocator->allocate(megabyte);
  EXPECT_NO_THROW((void)allocator->allocate(megabyte));
  try {
    (void)allocator->allocate(megabyte + 100);
    FAIL() << "no error";
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(), "GPU:0 has no room for 1048676 bytes: 1048576 bytes of its limit of 2097152 are in use");
  }
  EXPECT_EQ(allocator->stats().bytes_in_use, megabyte);
  EXPECT_EQ(allocator->stats().bytes_reserved, system.given());
  EXPECT_NO_THROW((void)allocator->allocate(megabyte)) << "smaller work succeeds";
  allocator->set_memory_limit(0);
  EXPECT_NO_THROW((void)allocator->allocate(3 * megabyte));
}

TEST_F(Allocator, KeptBlocksOfOtherSizesMakeRoom) {
  allocator->set_memory_limit(2 * megabyte);
  for (const std::size_t bytes : {2 * megabyte, megabyte, megabyte / 2}) (void)allocator->allocate(bytes);
  EXPECT_NO_THROW((void)allocator->allocate(2 * megabyte));
  EXPECT_LE(allocator->stats().bytes_reserved, 2 * megabyte);
}

TEST(DeviceAllocator, TakesTheLimitOfADeviceThatHasOne) {
  const LogicalDevice limited{.kind = DeviceKind::cpu, .index = 9, .memory_limit = megabyte};
  EXPECT_EQ(allocator(limited).stats().memory_limit, megabyte);
  const LogicalDevice by_name{.kind = DeviceKind::cpu, .index = 9};
  try {
    (void)Tensor::empty({512, 1024}, DType::f32, by_name);
    FAIL() << "no error";
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(),
                 "a tensor of f32 (512, 1024): CPU:9 has no room for 2097152 bytes: 0 bytes of its limit of 1048576 "
                 "are in use");
  }
  allocator(by_name).set_memory_limit(0);
  EXPECT_NO_THROW((void)Tensor::empty({512, 1024}, DType::f32, by_name));
}

TEST(DeviceAllocator, IsOnePerLogicalDevice) {
  const LogicalDevice first{DeviceKind::cpu, 0};
  const LogicalDevice second{DeviceKind::cpu, 1};
  EXPECT_EQ(&allocator(first), &allocator(first));
  EXPECT_NE(&allocator(first), &allocator(second));
  EXPECT_EQ(allocator(second).device(), second);
}

TEST(DeviceAllocator, AlignsToMoreThanCacheLines) {
  const auto first = allocator({}).allocate(100);
  const auto second = allocator({}).allocate(5 * megabyte);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first->data()) % 512, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second->data()) % 512, 0U);
}

/// A step allocates activations in the order of the layers and frees them in reverse, with other sizes in between.
TEST(DeviceAllocator, ReservesLittleMoreThanIsInUseAtOnce) {
  CachingAllocator& memory = allocator({DeviceKind::cpu, 21});
  const auto step = [&] {
    std::vector<std::shared_ptr<Buffer>> live;
    for (std::size_t layer = 1; layer <= 20; ++layer) {
      const auto scratch = memory.allocate(layer * 77'000);
      live.push_back(memory.allocate(layer * megabyte / 4));
    }
    for (std::size_t layer = 20; layer > 0; --layer) {
      const auto gradient = memory.allocate(layer * 200'000);
      live.pop_back();
    }
  };
  step();
  const std::uint64_t after_warm_up = memory.stats().system_allocations;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(memory.stats().system_allocations, after_warm_up);
  EXPECT_LE(memory.stats().bytes_reserved, memory.stats().bytes_peak + memory.stats().bytes_peak / 3);
  EXPECT_EQ(memory.stats().bytes_in_use, 0U);
  memory.release_cache();
  EXPECT_EQ(memory.stats().bytes_reserved, 0U);
}

TEST(DeviceAllocator, RejectsDevicesThatItHasNoMemoryFor) {
  EXPECT_THROW((void)allocator({DeviceKind::gpu, 0}), Unsupported);
}

TEST(DeviceAllocator, OutlivesTensorsInStaticStorage) {
  static Tensor kept;  // destroyed after the allocators' table, which is created later
  kept = Tensor::zeros({3});
  EXPECT_TRUE(kept.defined());
}

}  // namespace
}  // namespace lockstep
