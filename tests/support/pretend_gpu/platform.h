#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <support/pretend_gpu/computing.h>
#include <support/pretend_gpu/device_memory.h>
#include <support/pretend_gpu/stream.h>

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep::test {

/// The host's memory, counted.
class PretendPinnedMemory final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  /// Whether [address, address + bytes) is in a piece of it that has not been released.
  bool contains(const void* address, std::size_t bytes) const;
  /// How often memory has been asked for.
  std::size_t allocations() const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> pieces_;  ///< bytes by address
  std::size_t allocations_ = 0;
};

/// A machine with GPUs that compute when they are given something. Their other streams do their work as late as
/// they can, when something waits for it, or, once asked to hurry, at once.
class PretendGpuPlatform : public GpuPlatform, public PretendGpuComputing {
 public:
  /// `peers`: of each GPU those whose memory it can address. Without any, one GPU, which all logical ones share.
  explicit PretendGpuPlatform(std::vector<std::vector<int>> peers = {{}}) : peers_(std::move(peers)) {}
  GpuReport report() override;
  int count() override { return static_cast<int>(peers_.size()); }
  std::size_t free_memory(int gpu) override;
  MemoryResource& memory(const LogicalDevice& gpu) override;
  PretendPinnedMemory& pinned_memory() override { return pinned_memory_; }
  void copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
            std::size_t bytes) override;
  void copy_from_pinned(void* to, const LogicalDevice& gpu, const void* from, std::size_t bytes) override;
  void clear(const LogicalDevice& gpu, void* memory, std::size_t bytes) override;
  void synchronize(const LogicalDevice& gpu) override;
  std::unique_ptr<GpuEvent> make_event(const LogicalDevice& gpu) override;
  void begin_capture(const LogicalDevice& gpu) override;
  std::unique_ptr<GpuGraph> end_capture(const LogicalDevice& gpu) override;

  // PretendGpuComputing; launches fail where `fail_launch` has said it
  DeviceMemory& memory() override { return memory_; }
  void launch() override;
  bool captures() const override;
  void compute(std::function<void()> work) override;
  void report_out_of_range(const std::string& op, std::int64_t place) override;

  /// Graphs that have been launched.
  std::size_t launches() const { return launches_; }

  /// Piece of work number `first` that this GPU is given to compute from now on fails, as a kernel's launch may: 1 for
  /// the next; 0 for none.
  void fail_launch(const LogicalDevice& gpu, std::int64_t first);
  /// A kernel has read a bad index: as on a GPU, the next wait for its work throws.
  void set_fault(const std::string& what);

  /// One that is not the compute stream.
  PretendGpuStream& stream(const Stream& stream);
  /// How often this stream has waited for what the GPU had been given to compute.
  std::size_t waits_for_computing(const Stream& stream);
  /// Whether the streams of all GPUs do their work at once, which they do not at first. Not while they have some.
  void hurry(bool on);

 private:
  friend class PretendGpuGraph;
  friend class PretendGpuEvent;
  struct SideStream {
    PretendGpuStream work;
    std::size_t waits = 0;
  };
  void throw_fault();
  SideStream& side_stream(const Stream& stream);

  std::atomic<std::size_t> launches_ = 0;
  std::vector<std::vector<int>> peers_;
  PretendPinnedMemory pinned_memory_;
  DeviceMemory memory_;
  std::mutex mutex_;  ///< of what follows
  std::string fault_;
  std::map<int, std::int64_t> launches_to_failure_;  ///< by index of the GPU
  bool hurries_ = false;
  std::map<std::pair<int, StreamKind>, std::unique_ptr<SideStream>> streams_;
};

}  // namespace lockstep::test
