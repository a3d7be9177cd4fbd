#pragma once

#include <cstddef>
#include <memory>

namespace lockstep {

class CachingAllocator;
struct LogicalDevice;
struct MemoryBlock;

/// A block of a device's memory. The destructor returns the block to its allocator, if it has one.
class Buffer {
 public:
  /// For CachingAllocator::allocate. The destructor returns `block` to `owner`.
  Buffer(std::shared_ptr<CachingAllocator> owner, MemoryBlock& block);
  /// For `bytes` bytes at `data`, on the device of `owner`, which no CachingAllocator has allocated. `memory`, which
  /// must not be null, keeps these bytes valid.
  Buffer(std::shared_ptr<CachingAllocator> owner, std::shared_ptr<const void> memory, void* data, std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  /// The block's first byte, on the device.
  void* data() const { return data_; }
  /// Size of the block, at least the requested bytes; after move_into, the bytes of the other buffer from `offset` to
  /// its end.
  std::size_t bytes() const { return bytes_; }
  /// Whether the memory is this buffer's own block. False for memory of another library and after move_into.
  bool has_block() const { return other_ == nullptr; }
  /// Makes this buffer refer to the memory at `offset` in `other`, which must already hold the same bytes, and frees
  /// its own block. Does nothing after keep_block. Preconditions: this buffer has not been moved before; `other` is
  /// never moved; no other thread uses either buffer meanwhile.
  void move_into(std::shared_ptr<Buffer> other, std::size_t offset);
  /// Makes later calls of move_into do nothing, so that the block stays at its address until the buffer is destroyed.
  /// For other libraries, which know only the address.
  void keep_block();
  /// The device of the memory.
  const LogicalDevice& device() const;

 private:
  std::shared_ptr<CachingAllocator> owner_;  ///< of the memory's device
  MemoryBlock* block_ = nullptr;             ///< of `owner_`; null for memory of another library
  std::shared_ptr<const void> other_;        ///< owns the memory if it is not `block_`, such as after move_into
  void* data_;
  std::size_t bytes_;
  bool keeps_block_ = false;  ///< accessed atomically
};

}  // namespace lockstep
