#include "lockstep/kernels/kernel.h"

#include <atomic>

#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep::kernels {
namespace {

std::atomic<GpuStandIn*> stand_in = nullptr;

}  // namespace

GpuStandIn* gpu_stand_in() { return stand_in.load(std::memory_order_relaxed); }

GpuStandInScope::GpuStandInScope(GpuStandIn& gpu) { stand_in = &gpu; }

GpuStandInScope::~GpuStandInScope() { stand_in = nullptr; }

namespace detail {

void no_gpu_kernels() { fail<Unsupported>("this build has no kernels for GPUs; use CPU devices"); }

void refuse_capture_of(const char* kernel) { refuse_capture(kernel); }

}  // namespace detail

}  // namespace lockstep::kernels
