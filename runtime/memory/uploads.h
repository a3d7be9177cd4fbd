#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

/// A copy from host memory to GPU memory.
struct Upload {
  void* to = nullptr;          ///< address on the GPU
  const void* from = nullptr;  ///< address on the host
  std::size_t bytes = 0;       ///< size of the copy
};

/// Copies data from the host to a logical GPU in its input stream, concurrently with computation. Alternates between
/// two pinned buffers: one is filled while the GPU reads the other. Thread-safe.
class Uploads {
 public:
  /// For copies to `gpu`. Throws the same errors as Event's constructor.
  explicit Uploads(const LogicalDevice& gpu);
  /// Waits for the copies. Precondition: all events returned by `begin` have been destroyed.
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  /// Starts the copies. They run after all work enqueued so far in the GPU's compute stream, because that work may
  /// still use the destinations. `from` may be reused on return; `to` is complete once the returned event has
  /// completed. The second-last call used the pinned buffer that this call fills, so this call blocks until the copies
  /// of the second-last call are done. Allocates no pinned memory once the buffers are large enough. Throws
  /// OutOfMemory, DeviceError, NotCapturable.
  std::shared_ptr<const Event> begin(std::span<const Upload> copies);

 private:
  struct Staging {
    std::byte* memory = nullptr;  ///< pinned
    std::size_t bytes = 0;
    std::shared_ptr<const Event> read{};  ///< completes when the GPU has read the buffer; null before the first use
  };
  Staging& next_staging(std::size_t bytes);
  std::shared_ptr<Event> take_event();

  LogicalDevice gpu_;
  std::mutex spare_mutex_;  ///< protects spare_ and events_; may be locked while mutex_ is
  std::vector<std::unique_ptr<Event>> spare_;
  std::size_t events_ = 0;  ///< number of events created
  std::mutex mutex_;        ///< protects the members below
  Event computed_;
  std::array<Staging, 2> stagings_;
  std::size_t calls_ = 0;
};

/// The Uploads object of a logical GPU, created at first use and never destroyed. Throws the same errors as Event's
/// constructor.
Uploads& uploads(const LogicalDevice& gpu);

}  // namespace lockstep
