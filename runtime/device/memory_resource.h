#pragma once

#include <cstddef>

namespace lockstep {

/// Where a device's memory comes from, below the caching allocator: the host's, or a GPU's.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// At least `bytes` bytes, aligned to 64 or better. Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Gives back what allocate gave, `bytes` in all with what `extend` added.
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  /// Whether what allocate gives can be made longer.
  virtual bool extends() const { return false; }
  /// Makes the `bytes` bytes from `end` on usable, which is where memory of this resource ends; false when it cannot.
  virtual bool extend([[maybe_unused]] void* end, [[maybe_unused]] std::size_t bytes) { return false; }
  /// The memory that ends at `end` is used again and again as it is: what makes each use cheaper may cost something
  /// now.
  virtual void settle([[maybe_unused]] void* end) noexcept {}
};

}  // namespace lockstep
