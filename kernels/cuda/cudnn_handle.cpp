#include "lockstep/kernels/cuda/cudnn_handle.h"

#include <map>
#include <mutex>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep::cudnn {
namespace {

class Handle {
 public:
  Handle() {
    static std::mutex one_at_a_time;  // NVIDIA recommends creating a process' first handles one at a time
    const std::lock_guard lock(one_at_a_time);
    check(cudnnCreate(&handle_), "cudnnCreate");
  }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// The handle, set to work in `stream`.
  cudnnHandle_t on(cudaStream_t stream) {
    if (stream_ != stream) check(cudnnSetStream(handle_, stream), "cudnnSetStream");
    stream_ = stream;
    return handle_;
  }

 private:
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;  ///< initially CUDA's default stream, which no GPU of this library uses
};

}  // namespace

void check(cudnnStatus_t status, const char* call, std::string_view what) {
  require<DeviceError>(status == CUDNN_STATUS_SUCCESS, "{} failed on {}{}{}: {}", call, current_context().device.name(),
                       what.empty() ? "" : " in the ", what, cudnnGetErrorString(status));
}

cudnnHandle_t handle_of(const Gpu& gpu) {
  thread_local std::map<int, Handle> handles;
  return handles[gpu.device().index].on(gpu.stream());
}

std::string text_of(const Gpu& gpu) {
  const Device device = gpu_platform().report().devices.at(static_cast<std::size_t>(gpu.ordinal()));
  return fmt::format("{}, compute capability {}", device.model, device.compute_capability);
}

}  // namespace lockstep::cudnn
