#include "lockstep/kernels/backend.h"

#include <atomic>

#include <lockstep/kernels/built_in_gpu_backend.h>
#include <lockstep/kernels/checked_backend.h>
#include <lockstep/kernels/cpu/cpu_backend.h>
#include <lockstep/runtime/memory/contracts.h>

namespace lockstep {
namespace {

std::atomic<Backend*>& other_gpu_backend() {
  static std::atomic<Backend*> other = nullptr;
  return other;
}

Backend& gpu_backend() {
  Backend* const other = other_gpu_backend();
  return other != nullptr ? *other : built_in_gpu_backend();
}

}  // namespace

Backend& backend(DeviceKind kind) {
  static CpuBackend cpu;
  if (kind == DeviceKind::cpu) return cpu;
  Backend& gpu = gpu_backend();
  if constexpr (contracts::checked) {
    static CheckedBackend checked(&gpu_backend);
    return checked;
  }
  return gpu;
}

Backend& current_backend() { return backend(current_context().device.kind); }

GpuBackendScope::GpuBackendScope(Backend& backend) { other_gpu_backend() = &backend; }

GpuBackendScope::~GpuBackendScope() { other_gpu_backend() = nullptr; }

}  // namespace lockstep
