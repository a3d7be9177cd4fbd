#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <support/pretend_gpu/device_memory.h>

#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep::test {

/// A machine with GPUs whose work is done when it is enqueued.
class PretendGpuPlatform final : public GpuPlatform {
 public:
  /// `peers`: of each GPU those whose memory it can address. Without any, one GPU, which all logical ones share.
  explicit PretendGpuPlatform(std::vector<std::vector<int>> peers = {{}}) : peers_(std::move(peers)) {}
  GpuReport report() override;
  int count() override { return static_cast<int>(peers_.size()); }
  MemoryResource& memory(const LogicalDevice& gpu) override;
  void copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
            std::size_t bytes) override;
  void clear(const LogicalDevice& gpu, void* memory, std::size_t bytes) override;
  void synchronize(const LogicalDevice& gpu) override;
  std::unique_ptr<GpuMark> make_mark(const LogicalDevice& gpu) override;

  /// A kernel has met a bad index: as on a GPU, whoever waits for its work next is told.
  void set_fault(const std::string& what);

  /// Of all GPUs.
  DeviceMemory& memory() { return memory_; }

 private:
  void throw_fault();

  std::vector<std::vector<int>> peers_;
  std::mutex mutex_;
  std::string fault_;
  DeviceMemory memory_;
};

}  // namespace lockstep::test
