#include <cstdlib>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/memory/memory_pool.h>

namespace lockstep {
namespace {

const LogicalDevice gpu{DeviceKind::gpu, 60};

/// Counts the bytes that have not been returned.
class CountedMemory final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes) override {
    require<OutOfMemory>(given_ + bytes <= limit, "{} bytes are too many", bytes);
    given_ += bytes;
    return std::malloc(bytes);
  }
  void release(void* memory, std::size_t bytes) noexcept override {
    given_ -= bytes;
    std::free(memory);
  }
  std::size_t given() const { return given_; }

  std::size_t limit = std::size_t{1} << 20;  ///< bytes that can be allocated

 private:
  std::size_t given_ = 0;
};

struct Pool : testing::Test {
  CountedMemory system;
  CachingAllocator& all() {
    const MemoryPoolScope there(outer);
    return allocator(gpu);
  }
  MemoryPool outer{gpu, system};
};

TEST_F(Pool, HandsItsBlocksToItsScopeAlone) {
  const MemoryPool pool(gpu, system);
  const void* own = nullptr;
  {
    const MemoryPoolScope scope(pool);
    own = allocator(gpu).allocate(1000)->data();
  }
  const auto others = all().allocate(1000);
  EXPECT_NE(others->data(), own);
  const MemoryPoolScope scope(pool);
  EXPECT_EQ(allocator(gpu).allocate(1000)->data(), own);
  EXPECT_EQ(pool.stats().system_allocations, 1U);
}

TEST_F(Pool, ScopesAreOfOneThreadAndOneDeviceAndNest) {
  const MemoryPool pool(gpu, system);
  const MemoryPoolScope around(outer);
  {
    const MemoryPoolScope scope(pool);
    EXPECT_NE(&allocator({}), &allocator(gpu));
    EXPECT_EQ(allocator({}).device().kind, DeviceKind::cpu);
    const CachingAllocator* const own = &allocator(gpu);
    std::thread([&] {
      EXPECT_EQ(MemoryPoolScope::allocator_of(gpu), nullptr);
      const MemoryPoolScope elsewhere(outer);
      EXPECT_NE(&allocator(gpu), own);
    }).join();
  }
  EXPECT_EQ(&allocator(gpu), &all());
}

TEST_F(Pool, GivesItsMemoryBackWhenNothingOfItIsLeft) {
  std::shared_ptr<Buffer> block;
  {
    const MemoryPool pool(gpu, system);
    const MemoryPoolScope scope(pool);
    block = allocator(gpu).allocate(1000);
    (void)allocator(gpu).allocate(5000);
  }
  EXPECT_GT(system.given(), 0U);
  block.reset();
  EXPECT_EQ(system.given(), 0U);
}

TEST_F(Pool, KeepsAllWhenToldToHoweverShortOfMemoryTheSystemIs) {
  {
    const MemoryPool pool(gpu, system);
    const MemoryPoolScope scope(pool);
    (void)allocator(gpu).allocate(4096);
    system.limit = system.given();
    pool.keep_all();
    EXPECT_THROW((void)allocator(gpu).allocate(1024), OutOfMemory);
    allocator(gpu).release_cache();
    EXPECT_EQ(system.given(), 4096U);
  }
  EXPECT_EQ(system.given(), 0U);
  const MemoryPool other(gpu, system);
  const MemoryPoolScope scope(other);
  (void)allocator(gpu).allocate(4096);
  system.limit = system.given();
  EXPECT_NO_THROW((void)allocator(gpu).allocate(1024)) << "in place of what is free";
}

}  // namespace
}  // namespace lockstep
