#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/memory_resource.h>
#include <lockstep/runtime/device/stream.h>

namespace lockstep {

/// The GPUs that the driver reports.
struct GpuReport {
  std::vector<Device> devices{};  ///< by index
  std::string why_none{};         ///< why there is no device, in one line; empty if there is one
};

/// Work for a GPU's compute stream that a thread has captured (GpuCapture). Each launch repeats it on the same
/// addresses.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  /// Enqueues all of the work in the GPU's compute stream. Throws DeviceError.
  virtual void launch() const = 0;
};

/// The runtime's interface to GPUs. Functions wait for a GPU's work only if their comment says so. In a build without
/// CUDA, all but report, count and free_memory throw Unsupported. Thread-safe.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;
  /// Queries the driver at each call. Creates no context on a GPU. Throws Unsupported if the driver cannot describe a
  /// GPU.
  virtual GpuReport report() = 0;
  /// Number of physical GPUs; cheaper than a report.
  virtual int count() = 0;
  /// Free memory of a physical GPU in bytes, or 0 if no CUDA context can be created on it. Creates a context.
  virtual std::size_t free_memory(int gpu) = 0;
  /// The memory resource of a logical GPU. Throws DeviceError, and Unsupported if there is no GPU.
  virtual MemoryResource& memory(const LogicalDevice& gpu) = 0;
  /// Pinned host memory, from which GPUs can copy asynchronously.
  virtual MemoryResource& pinned_memory() = 0;
  /// Copies between two GPUs, or between a GPU and the host. In the compute streams of the GPUs, the copy runs after
  /// earlier work and before later work. Between GPUs it is asynchronous. In a copy from the host, `from` may be reused
  /// on return; the call may wait for the compute stream. A copy to the host waits for the compute stream, so that `to`
  /// can be read on return, and throws the same errors as synchronize. Throws DeviceError, NotCapturable.
  virtual void copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                    std::size_t bytes) = 0;
  /// Enqueues a copy from pinned memory in the GPU's input stream; `from` must not change before the copy is done.
  /// Throws DeviceError, NotCapturable.
  virtual void copy_from_pinned(void* to, const LogicalDevice& gpu, const void* from, std::size_t bytes) = 0;
  /// Enqueues a memset to 0 of a GPU's memory in its compute stream. Throws DeviceError.
  virtual void clear(const LogicalDevice& gpu, void* memory, std::size_t bytes) = 0;
  /// Waits for all work of a logical GPU, in all of its streams. Throws DeviceError if work failed, InvalidArgument if
  /// kernels found an index out of range.
  virtual void synchronize(const LogicalDevice& gpu) = 0;
  /// Creates the implementation of an Event. Throws DeviceError.
  virtual std::unique_ptr<GpuEvent> make_event(const LogicalDevice& gpu) = 0;

  // For GpuCapture. While a thread captures, calls that a graph cannot repeat throw NotCapturable.

  /// Starts recording the calling thread's work for the compute stream of `gpu` instead of running it. Throws
  /// DeviceError. Precondition: the thread is not capturing.
  virtual void begin_capture(const LogicalDevice& gpu) = 0;
  /// Ends the calling thread's capture and returns the recorded work. Throws DeviceError, which also ends the capture.
  virtual std::unique_ptr<GpuGraph> end_capture(const LogicalDevice& gpu) = 0;
};

/// The platform of this build: CUDA, or one that has no GPUs and reports why.
GpuPlatform& gpu_platform();

/// Waits for a GPU's work as GpuPlatform::synchronize does. Does nothing for a CPU, whose ops are synchronous.
void synchronize(const LogicalDevice& device);

/// The physical GPU of a logical one: its index modulo the number of physical GPUs. With two physical GPUs, GPU:5 is on
/// GPU 1. Throws Unsupported with the reason if there is no GPU.
int physical_gpu(const LogicalDevice& gpu);

}  // namespace lockstep
