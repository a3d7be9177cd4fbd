#include <cstdlib>
#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/memory/memory_pool.h>

// Allocators that share a physical GPU.

namespace lockstep {
namespace {

constexpr std::size_t mebibyte = 1 << 20;

/// The memory of a GPU with few bytes.
class SmallGpu : public MemoryResource {
 public:
  void* allocate(std::size_t bytes) override {
    require<OutOfMemory>(bytes <= left_, "{} bytes are left", left_);
    left_ -= bytes;
    return std::malloc(bytes);
  }
  void release(void* memory, std::size_t bytes) noexcept override {
    left_ += bytes;
    std::free(memory);
  }

 private:
  std::size_t left_ = 10 * mebibyte;
};

class AllocatorsOfOneGpu : public testing::Test {
 protected:
  static std::shared_ptr<CachingAllocator> allocator_of(int gpu, MemoryResource& memory) {
    return std::make_shared<CachingAllocator>(LogicalDevice{DeviceKind::gpu, gpu}, memory);
  }
  static std::size_t reserved(const std::shared_ptr<CachingAllocator>& allocator) {
    return allocator->stats().bytes_reserved;
  }

  SmallGpu memory_;
  SmallGpu memory_of_another_;
  const std::shared_ptr<CachingAllocator> own_ = allocator_of(0, memory_);
  const std::shared_ptr<CachingAllocator> of_same_ = allocator_of(gpu_platform().count(), memory_);  // GPU 0, too
  const std::shared_ptr<CachingAllocator> of_another_ = allocator_of(1, memory_of_another_);
};

TEST_F(AllocatorsOfOneGpu, GiveUpFreeMemoryForEachOther) {
  const MemoryPool pool({DeviceKind::gpu, 0}, memory_);
  of_same_->allocate(3 * mebibyte);
  of_another_->allocate(3 * mebibyte);
  {
    const MemoryPoolScope scope(pool);
    allocator({DeviceKind::gpu, 0}).allocate(4 * mebibyte);
  }
  const auto used = of_same_->allocate(3 * mebibyte);
  const auto whole = own_->allocate(7 * mebibyte);
  EXPECT_EQ(pool.stats().bytes_reserved, 0U);
  EXPECT_EQ(reserved(of_same_), 3 * mebibyte) << "in use";
  EXPECT_EQ(reserved(of_another_), 3 * mebibyte) << "of another GPU";
  EXPECT_ERROR(OutOfMemory, "0 bytes are left", own_->allocate(mebibyte));
}

TEST_F(AllocatorsOfOneGpu, KeepMemoryThatCapturedWorkUses) {
  of_same_->allocate(6 * mebibyte);
  of_same_->keep_all();
  EXPECT_ERROR(OutOfMemory, "4194304 bytes are left", own_->allocate(5 * mebibyte));
  EXPECT_EQ(reserved(of_same_), 6 * mebibyte);
}

TEST_F(AllocatorsOfOneGpu, KeepMemoryThatWouldNotHelpBelowALimit) {
  of_same_->allocate(6 * mebibyte);
  own_->set_memory_limit(mebibyte);
  EXPECT_ERROR(OutOfMemory, "limit", own_->allocate(2 * mebibyte));
  EXPECT_EQ(reserved(of_same_), 6 * mebibyte);
}

}  // namespace
}  // namespace lockstep
