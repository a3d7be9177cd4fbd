#include "lockstep/runtime/device/cuda/gpu_report.h"

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// Restores the calling thread's current device, which has to change for cudaMemGetInfo.
class CurrentDeviceGuard {
 public:
  CurrentDeviceGuard() { cudaGetDevice(&previous_); }
  ~CurrentDeviceGuard() {
    cudaSetDevice(previous_);
    cudaGetLastError();  // clears an error of this scope, which the next check of a kernel would report
  }
  CurrentDeviceGuard(const CurrentDeviceGuard&) = delete;
  CurrentDeviceGuard& operator=(const CurrentDeviceGuard&) = delete;

 private:
  int previous_ = 0;
};

void check(cudaError_t status, const char* call, int index) {
  require<Unsupported>(status == cudaSuccess, "{} failed for GPU:{}: {}", call, index, cudaGetErrorString(status));
}

Device describe(int index, int count) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties", index);
  Device device{.kind = DeviceKind::gpu, .index = index, .model = properties.name};
  device.cores = properties.multiProcessorCount;
  device.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
  device.memory_total = properties.totalGlobalMem;
  for (int peer = 0; peer < count; ++peer) {
    int reachable = 0;
    if (peer != index) check(cudaDeviceCanAccessPeer(&reachable, index, peer), "cudaDeviceCanAccessPeer", index);
    if (reachable) device.peers.push_back(peer);
  }
  return device;
}

}  // namespace

int count_gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

GpuReport report_gpus() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return {{}, fmt::format("no usable CUDA driver: {}", cudaGetErrorString(status))};
  if (count == 0) return {{}, "the CUDA driver reports no device"};
  GpuReport report;
  for (int index = 0; index < count; ++index) report.devices.push_back(describe(index, count));
  return report;
}

std::size_t free_memory_of_gpu(int index) {
  const CurrentDeviceGuard guard;
  std::size_t left = 0;
  std::size_t total = 0;
  const bool known = cudaSetDevice(index) == cudaSuccess && cudaMemGetInfo(&left, &total) == cudaSuccess;
  return known ? left : 0;
}

}  // namespace lockstep
