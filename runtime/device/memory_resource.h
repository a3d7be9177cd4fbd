#pragma once

#include <cstddef>

namespace lockstep {

/// The source of a device's memory, used by the caching allocator: host memory or a GPU's.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// Allocates at least `bytes` bytes, aligned to at least 64 bytes. Throws OutOfMemory; resources of GPUs also throw
  /// DeviceError and NotCapturable.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Frees an allocation. `bytes` is its size, including the bytes that `extend` has added.
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  /// Whether this resource implements `extend`.
  virtual bool extends() const { return false; }
  /// Grows the allocation that ends at `end` by `bytes`, in place. Returns false if that is impossible.
  virtual bool extend([[maybe_unused]] void* end, [[maybe_unused]] std::size_t bytes) { return false; }
  /// Hint that the allocation that ends at `end` no longer grows and will be reused, so a one-time optimization such as
  /// huge pages is worthwhile.
  virtual void settle([[maybe_unused]] void* end) noexcept {}
};

}  // namespace lockstep
