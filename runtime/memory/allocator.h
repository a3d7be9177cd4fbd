#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/memory/memory_resource.h>

namespace lockstep {

class CachingAllocator;

/// A block of one device's memory; gives itself back to its allocator.
class Buffer {
 public:
  /// For CachingAllocator::allocate: `bytes` at `data`, which `owner` takes back.
  Buffer(std::shared_ptr<CachingAllocator> owner, void* data, std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  /// The block's first byte, on the device.
  void* data() const { return data_; }
  /// Length of the block: the bytes asked for, rounded up.
  std::size_t bytes() const { return bytes_; }
  /// Whose memory it is.
  const LogicalDevice& device() const;

 private:
  std::shared_ptr<CachingAllocator> owner_;
  void* data_;
  std::size_t bytes_;
};

/// What an allocator holds now, and held at most, in bytes.
struct AllocatorStats {
  std::uint64_t system_allocations = 0;  ///< blocks asked from the system; stands still after warm-up
  std::size_t bytes_in_use = 0;          ///< handed out, rounding included
  std::size_t bytes_peak = 0;            ///< highest bytes_in_use
  std::size_t bytes_reserved = 0;        ///< in use and kept for reuse
  std::size_t memory_limit = 0;          ///< of bytes_reserved; 0: none but the system's
};

/// Reuses freed blocks, so that a step whose shapes repeat asks the system for nothing. A freed block is handed out
/// again at once: work on one logical device is ordered by its replica's thread (CPU) or stream. Thread-safe.
class CachingAllocator : public std::enable_shared_from_this<CachingAllocator> {
 public:
  /// Precondition: `resource` is of the device's kind and outlives the allocator.
  CachingAllocator(LogicalDevice device, MemoryResource& resource) : device_(device), resource_(resource) {}
  ~CachingAllocator();

  /// A block of at least `bytes` bytes. When the system, or the limit, has none left, kept blocks are released and it
  /// is asked once more. Throws OutOfMemory naming the device, what was asked for, what is in use and the limit.
  std::shared_ptr<Buffer> allocate(std::size_t bytes);
  /// Gives every kept block back to the system.
  void release_cache();
  /// A snapshot.
  AllocatorStats stats() const;
  /// Makes bytes_peak what is in use now.
  void reset_peak();
  /// Bytes that may be held in all, rounding and kept blocks included; 0: no limit but the system's. Does not touch
  /// what is in use already.
  void set_memory_limit(std::size_t bytes);
  /// Whose memory it hands out.
  const LogicalDevice& device() const { return device_; }

 private:
  friend class Buffer;
  void take_back(void* data, std::size_t bytes) noexcept;
  /// Counts `bytes` as reserved; false when that would pass the limit.
  bool reserve(std::size_t bytes);
  void* system_allocate(std::size_t bytes, std::size_t wanted);
  void* ask_system(std::size_t bytes);

  LogicalDevice device_;
  MemoryResource& resource_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> free_;  ///< by size class
  AllocatorStats stats_;
};

/// The allocator of a logical device, made at first use.
CachingAllocator& allocator(const LogicalDevice& device);

}  // namespace lockstep
