#pragma once

#include <memory>

#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/memory/device_memory.h>

namespace lockstep {

/// A device's memory for threads in a MemoryPoolScope. Other threads do not allocate from it, so no other values occupy
/// the addresses that a GPU's captured work uses. The device's memory limit does not apply to a pool. Buffers allocated
/// from a pool may outlive it.
class MemoryPool {
 public:
  ///@{
  /// An empty pool. Precondition: the resource does not support `extend` (resources of GPUs do not).
  explicit MemoryPool(const LogicalDevice& gpu) : MemoryPool(gpu, memory_resource(gpu)) {}
  MemoryPool(const LogicalDevice& gpu, MemoryResource& resource)
      : allocator_(std::make_shared<CachingAllocator>(gpu, resource)) {}
  ///@}
  /// Same as CachingAllocator::keep_all.
  void keep_all() const { allocator_->keep_all(); }
  /// Statistics of this pool alone.
  AllocatorStats stats() const { return allocator_->stats(); }

 private:
  friend class MemoryPoolScope;
  std::shared_ptr<CachingAllocator> allocator_;
};

/// During its lifetime, calls of `allocator` for the pool's device on the thread that created the scope return the
/// pool's allocator.
class MemoryPoolScope {
 public:
  /// `pool` must outlive the scope. The destructor restores the previous scope.
  explicit MemoryPoolScope(const MemoryPool& pool);
  ~MemoryPoolScope();
  MemoryPoolScope(const MemoryPoolScope&) = delete;
  MemoryPoolScope& operator=(const MemoryPoolScope&) = delete;

  /// The pool's allocator if the calling thread is in a scope of a pool for `device`, else null.
  static CachingAllocator* allocator_of(const LogicalDevice& device);

 private:
  CachingAllocator* previous_;
};

}  // namespace lockstep
