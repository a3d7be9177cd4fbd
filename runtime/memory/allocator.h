#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/memory_resource.h>
#include <lockstep/runtime/memory/block_list.h>

namespace lockstep {

class CachingAllocator;

/// A block of one device's memory; gives itself back to its allocator.
class Buffer {
 public:
  /// For CachingAllocator::allocate, which takes `block` back.
  Buffer(std::shared_ptr<CachingAllocator> owner, BlockList::Position block);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  /// The block's first byte, on the device.
  void* data() const { return data_; }
  /// Length of the block: the bytes asked for, rounded up.
  std::size_t bytes() const { return bytes_; }
  /// What it holds is `offset` bytes into `other` from now on, where the same bytes are already; its own block is free.
  /// Preconditions: it does so once, `other` does not, and no thread uses either meanwhile.
  void move_into(std::shared_ptr<Buffer> other, std::size_t offset);
  /// Whose memory it is.
  const LogicalDevice& device() const;

 private:
  std::shared_ptr<CachingAllocator> owner_;
  BlockList::Position block_;
  std::shared_ptr<Buffer> other_;  ///< what it has moved into, if it has
  void* data_;
  std::size_t bytes_;
};

/// What an allocator holds now, and held at most, in bytes.
struct AllocatorStats {
  std::uint64_t system_allocations = 0;  ///< times that the system was asked for memory; stands still after warm-up
  std::size_t bytes_in_use = 0;          ///< handed out, rounding included
  std::size_t bytes_peak = 0;            ///< highest bytes_in_use
  std::size_t bytes_reserved = 0;        ///< in use and kept for reuse
  std::size_t memory_limit = 0;          ///< of bytes_in_use; 0: none but the system's
};

/// Reuses freed memory, so that a step whose shapes repeat asks the system for nothing. Where the system can extend
/// what it gave, as the host's does, blocks lie side by side, free neighbours become one, and no more is reserved than
/// the step needs at once. A freed block is handed out again at once: work on one logical device is ordered by its
/// replica's thread (CPU) or stream. Thread-safe.
class CachingAllocator : public std::enable_shared_from_this<CachingAllocator> {
 public:
  /// Precondition: `resource` is of the device's kind and outlives the allocator.
  CachingAllocator(LogicalDevice device, MemoryResource& resource) : device_(device), resource_(resource) {}
  ~CachingAllocator();

  /// A block of at least `bytes` bytes. When the system has none left, or only the limit's worth, free memory is
  /// released and it is asked once more. Throws OutOfMemory naming the device, what was asked for, what is in use and
  /// the limit.
  std::shared_ptr<Buffer> allocate(std::size_t bytes);
  /// Gives what is not in use back to the system, as far as it is whole segments.
  void release_cache();
  /// From now on nothing is given back to the system, however short of memory that is: for work that has been captured
  /// and uses, whenever it is launched, blocks that are free meanwhile.
  void keep_all();
  /// A snapshot.
  AllocatorStats stats() const;
  /// Makes bytes_peak what is in use now.
  void reset_peak();
  /// Bytes that may be in use at once, rounding included; 0: no limit but the system's. Does not touch what is in use
  /// already.
  void set_memory_limit(std::size_t bytes);
  /// Whose memory it hands out.
  const LogicalDevice& device() const { return device_; }

 private:
  friend class Buffer;
  void take_back(BlockList::Position block) noexcept;
  BlockList::Position take(std::size_t bytes, std::size_t wanted);
  BlockList::Excess excess() const { return resource_.extends() ? BlockList::Excess::cut : BlockList::Excess::keep; }
  bool extend_for(std::size_t bytes);
  void add_segment(std::size_t bytes);
  void count_reserved(std::size_t bytes);
  void release_free_segments() noexcept;
  void count_handed_out(std::size_t bytes);

  LogicalDevice device_;
  MemoryResource& resource_;
  mutable std::mutex mutex_;  ///< of all that follows
  BlockList blocks_;
  AllocatorStats stats_;
  std::size_t handed_out_ = 0;  ///< bytes in all since it last asked the system for memory, until that has settled
  bool settled_ = false;
  bool keeps_all_ = false;
};

/// The allocator of a logical device, made at first use.
CachingAllocator& allocator(const LogicalDevice& device);

}  // namespace lockstep
