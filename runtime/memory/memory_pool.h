#pragma once

#include <memory>

#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/memory/device_memory.h>

namespace lockstep {

/// Memory of a device that nobody gets but threads in its scope, so that a GPU's captured work, which uses addresses
/// that its thread was given once, finds nobody else's values there. Where the device's memory has a limit, it is not
/// counted. What has been allocated from it may outlive it.
class MemoryPool {
 public:
  ///@{
  /// Empty at first. Precondition: the resource does not extend what it gave, as a GPU's.
  explicit MemoryPool(const LogicalDevice& gpu) : MemoryPool(gpu, memory_resource(gpu)) {}
  MemoryPool(const LogicalDevice& gpu, MemoryResource& resource)
      : allocator_(std::make_shared<CachingAllocator>(gpu, resource)) {}
  ///@}
  /// As the allocator's, until the pool ends.
  void keep_all() const { allocator_->keep_all(); }
  /// Of this pool alone.
  AllocatorStats stats() const { return allocator_->stats(); }

 private:
  friend class MemoryPoolScope;
  std::shared_ptr<CachingAllocator> allocator_;
};

/// For the calling thread, `allocator` of the pool's device is the pool's while one of these lives.
class MemoryPoolScope {
 public:
  /// Until the scope ends: then the scope before it holds again.
  explicit MemoryPoolScope(const MemoryPool& pool);
  ~MemoryPoolScope();
  MemoryPoolScope(const MemoryPoolScope&) = delete;
  MemoryPoolScope& operator=(const MemoryPoolScope&) = delete;

  /// That of the calling thread's scope, for this device; null outside of one.
  static CachingAllocator* allocator_of(const LogicalDevice& device);

 private:
  CachingAllocator* previous_;
};

}  // namespace lockstep
