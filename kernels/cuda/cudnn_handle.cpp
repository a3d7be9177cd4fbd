#include "lockstep/kernels/cuda/cudnn_handle.h"

#include <map>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/context.h>

namespace lockstep::cudnn {
namespace {

class Handle {
 public:
  explicit Handle(const Gpu& gpu) {
    check(cudnnCreate(&handle_), "cudnnCreate");
    const cudnnStatus_t status = cudnnSetStream(handle_, gpu.stream());
    if (status != CUDNN_STATUS_SUCCESS) cudnnDestroy(handle_);
    check(status, "cudnnSetStream");
  }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

void check(cudnnStatus_t status, const char* call, std::string_view what) {
  require<DeviceError>(status == CUDNN_STATUS_SUCCESS, "{} failed on {}{}{}: {}", call, current_context().device.name(),
                       what.empty() ? "" : " in the ", what, cudnnGetErrorString(status));
}

cudnnHandle_t handle_of(const Gpu& gpu) {
  thread_local std::map<int, Handle> handles;
  return handles.try_emplace(gpu.device().index, gpu).first->second.get();
}

}  // namespace lockstep::cudnn
