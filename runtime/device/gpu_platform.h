#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/memory_resource.h>
#include <lockstep/runtime/device/stream.h>

namespace lockstep {

/// What the driver reports.
struct GpuReport {
  std::vector<Device> devices{};  ///< by index
  std::string why_none{};         ///< one line; empty when there are devices
};

/// Work that a thread gave to a GPU's compute stream while it captured (GpuCapture): each launch repeats it on the same
/// addresses.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  /// Enqueues all of it in the compute stream. Throws DeviceError.
  virtual void launch() const = 0;
};

/// What the runtime asks of GPUs; nothing here waits for their work but what says so. Thread-safe.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;
  /// Asks the driver anew, each time; no GPU has to do with it.
  virtual GpuReport report() = 0;
  /// How many physical GPUs there are; cheaper than a report.
  virtual int count() = 0;
  /// How many bytes are free on a physical GPU, which this process then uses; 0 where it may not.
  virtual std::size_t free_memory(int gpu) = 0;
  /// The memory of a logical GPU. Throws Unsupported when it cannot be used.
  virtual MemoryResource& memory(const LogicalDevice& gpu) = 0;
  /// Memory of the host that GPUs copy from asynchronously. Throws Unsupported in a build
  /// without GPUs.
  virtual MemoryResource& pinned_memory() = 0;
  /// Copies between two GPUs, or a GPU and the host: in the order of both GPUs' work, and done when it returns where
  /// one side is the host's. Throws DeviceError.
  virtual void copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                    std::size_t bytes) = 0;
  /// Enqueues a copy from pinned memory in the GPU's input stream; `from` must not change before it is done.
  /// Throws DeviceError.
  virtual void copy_from_pinned(void* to, const LogicalDevice& gpu, const void* from, std::size_t bytes) = 0;
  /// Sets bytes of a GPU's memory to 0.
  virtual void clear(const LogicalDevice& gpu, void* memory, std::size_t bytes) = 0;
  /// Waits for all work of a logical GPU, in all of its streams. Throws DeviceError for work that failed,
  /// InvalidArgument for indices outside their range that it met.
  virtual void synchronize(const LogicalDevice& gpu) = 0;
  /// For Event. Throws DeviceError.
  virtual std::unique_ptr<GpuEvent> make_event(const LogicalDevice& gpu) = 0;

  // For GpuCapture. While a thread captures, what else it asks of GPUs throws NotCapturable.

  /// What the calling thread gives the compute stream of `gpu` from now on is recorded and does not run. Throws
  /// DeviceError, and Unsupported in a build without GPUs. Precondition: the thread captures nothing.
  virtual void begin_capture(const LogicalDevice& gpu) = 0;
  /// What the calling thread has given it since; nothing is recorded any more, also when this throws DeviceError.
  virtual std::unique_ptr<GpuGraph> end_capture(const LogicalDevice& gpu) = 0;
};

/// The platform of this build: CUDA's, or one that has no GPUs and says why.
GpuPlatform& gpu_platform();

/// Waits for a GPU's work, as GpuPlatform::synchronize; a CPU's is done when the call that did it returns.
void synchronize(const LogicalDevice& device);

/// The physical GPU of a logical one: they are dealt out in turn, so that GPU:5 of a machine with two is on its GPU 1.
/// Throws Unsupported, saying why, when there is none.
int physical_gpu(const LogicalDevice& gpu);

}  // namespace lockstep
