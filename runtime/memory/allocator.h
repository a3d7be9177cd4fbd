#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/memory_resource.h>
#include <lockstep/runtime/memory/block_list.h>
#include <lockstep/runtime/memory/buffer.h>

namespace lockstep {

/// Statistics of a CachingAllocator.
struct AllocatorStats {
  std::uint64_t system_allocations = 0;  ///< allocations and extensions by the resource; constant after warm-up
  std::size_t bytes_in_use = 0;          ///< bytes of all blocks in use, including rounding
  std::size_t bytes_peak = 0;            ///< highest bytes_in_use
  std::size_t bytes_reserved = 0;        ///< bytes allocated from the resource: in use or kept for reuse
  std::size_t memory_limit = 0;          ///< limit of bytes_in_use; 0: only the device's memory limits it
};

/// Reuses freed memory, so that a step with the same shapes as an earlier one allocates nothing from the resource. As
/// long as the resource can extend its last allocation, as host memory usually can, all blocks lie in one segment. The
/// reserved memory is then hardly larger than the memory in use at a step's peak. A freed block may be reused
/// immediately, because work on a logical device is ordered by its replica's thread (CPU) or by its compute stream
/// (GPU). Thread-safe.
class CachingAllocator : public std::enable_shared_from_this<CachingAllocator> {
 public:
  /// Preconditions: a std::shared_ptr owns the allocator; `resource` allocates memory of `device` and outlives the
  /// allocator.
  CachingAllocator(LogicalDevice device, MemoryResource& resource) : device_(device), resource_(resource) {}
  ~CachingAllocator();

  /// Allocates a block of at least `bytes` bytes. If the reserved bytes would exceed the limit, first releases this
  /// allocator's free memory. If the resource is out of memory, releases this allocator's free memory and retries; if
  /// that fails, does the same with the free memory of all other allocators on the same physical GPU. Throws
  /// OutOfMemory, whose message states the device, the requested bytes, the bytes in use and, if the block would exceed
  /// it, the limit; also throws the resource's other errors.
  std::shared_ptr<Buffer> allocate(std::size_t bytes);
  /// Returns the segments without blocks in use to the resource. Does nothing after keep_all.
  void release_cache();
  /// Makes the allocator keep all memory until it is destroyed, even if memory runs out. Captured work needs this,
  /// because each launch uses blocks that are free between launches.
  void keep_all();
  /// A consistent snapshot.
  AllocatorStats stats() const;
  /// Sets bytes_peak to bytes_in_use.
  void reset_peak();
  /// Limits the bytes in use, including rounding; 0: only the device's memory limits them. Blocks in use stay valid
  /// even if they exceed the limit.
  void set_memory_limit(std::size_t bytes);
  /// The device whose memory it allocates.
  const LogicalDevice& device() const { return device_; }

 private:
  friend class Buffer;
  void take_back(MemoryBlock& block) noexcept;
  BlockList::Position take(std::size_t bytes, std::size_t wanted);
  BlockList::Excess excess() const { return resource_.extends() ? BlockList::Excess::cut : BlockList::Excess::keep; }
  bool extend_for(std::size_t bytes);
  void add_segment(std::size_t bytes);
  void count_reserved(std::size_t bytes);
  void release_free_segments() noexcept;
  void count_handed_out(std::size_t bytes);

  LogicalDevice device_;
  MemoryResource& resource_;
  mutable std::mutex mutex_;  ///< protects all members below
  BlockList blocks_;
  AllocatorStats stats_;
  std::size_t handed_out_ = 0;  ///< bytes of blocks taken since the last system allocation; not counted once settled_
  bool settled_ = false;
  bool keeps_all_ = false;
};

/// If the calling thread is in a MemoryPoolScope for `device`, the pool's allocator. Otherwise the device's own
/// allocator, created at first use. If `device.memory_limit` is not 0, it becomes the limit of that allocator. Throws
/// the same errors as memory_resource.
CachingAllocator& allocator(const LogicalDevice& device);

}  // namespace lockstep
