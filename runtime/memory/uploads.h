#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

/// Bytes that go from the host's memory to a GPU's.
struct Upload {
  void* to = nullptr;          ///< on the GPU
  const void* from = nullptr;  ///< on the host
  std::size_t bytes = 0;       ///< how many
};

/// Copies from the host to a logical GPU in its input stream, concurrently with computation, through two pinned buffers
/// in turn: one is filled while the GPU reads the other. Thread-safe.
class Uploads {
 public:
  /// To `gpu`. Throws as Event's constructor.
  explicit Uploads(const LogicalDevice& gpu);
  /// Waits for the copies. Precondition: no event that begin returned is left.
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  /// Begins these copies, after all that the GPU has been given to compute so far, which may still use the memory that
  /// they go to. Both sides' memory is the caller's: `from` may change when this returns, and `to` is complete
  /// after the event in the result. Waits for the copies of the last call but one. Allocates nothing once the
  /// buffers are large enough. Throws OutOfMemory, DeviceError.
  std::shared_ptr<const Event> begin(std::span<const Upload> copies);

 private:
  struct Staging {
    std::byte* memory = nullptr;  ///< pinned
    std::size_t bytes = 0;
    std::shared_ptr<const Event> read{};  ///< by the GPU; null before the first use
  };
  Staging& next_staging(std::size_t bytes);
  std::shared_ptr<Event> take_event();

  LogicalDevice gpu_;
  std::mutex spare_mutex_;  ///< of the events; taken with mutex_ held, too
  std::vector<std::unique_ptr<Event>> spare_;
  std::size_t events_ = 0;  ///< made so far
  std::mutex mutex_;        ///< of what follows
  Event computed_;
  std::array<Staging, 2> stagings_;
  std::size_t calls_ = 0;
};

/// The uploads to a logical GPU, made at first use and there until the program's end.
Uploads& uploads(const LogicalDevice& gpu);

}  // namespace lockstep
