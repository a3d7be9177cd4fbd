#include <memory>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/device/gpu_devices.h>
#include <lockstep/runtime/thread/context.h>

namespace lockstep {
namespace {

int ordinal_of(const LogicalDevice& device) {
  const GpuReport gpus = query_gpus();
  require<Unsupported>(!gpus.devices.empty(), "{} cannot be used: {}", device.name(), gpus.why_none);
  return device.index % static_cast<int>(gpus.devices.size());
}

}  // namespace

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) [[likely]]
    return;
  const char* const what = cudaGetErrorString(status);
  const std::string device = current_context().device.name();
  require<OutOfMemory>(status != cudaErrorMemoryAllocation, "{} failed on {}: {}", call, device, what);
  fail<DeviceError>("{} failed on {}: {} ({})", call, device, what, cudaGetErrorName(status));
}

Gpu::Gpu(const LogicalDevice& device) : device_(device), ordinal_(ordinal_of(device)) {
  make_current();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

void Gpu::make_current() const { check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice"); }

void Gpu::synchronize() {
  make_current();
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  throw_faults();
}

IndexFault* Gpu::index_fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  IndexFault*& fault = faults_[what];
  if (fault == nullptr) {
    make_current();
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, sizeof(IndexFault), cudaHostAllocMapped | cudaHostAllocPortable),
               "cudaHostAlloc");
    fault = new (memory) IndexFault;
  }
  return fault;
}

void Gpu::throw_faults() {
  const std::lock_guard lock(mutex_);
  for (auto& [what, fault] : faults_) {
    const unsigned long long place = std::exchange(fault->first, IndexFault::none);
    require(place == IndexFault::none, "{}: number {} of them is outside its range, on {}", what, place,
            device_.name());
  }
}

void Gpu::wait_for(const Gpu& other) const {
  if (&other == this) return;
  // The event may be destroyed while it is waited for: CUDA keeps it until then.
  cudaEvent_t reached = nullptr;
  other.make_current();
  check_cuda(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  const cudaError_t recorded = cudaEventRecord(reached, other.stream_);
  make_current();
  const cudaError_t waiting = recorded == cudaSuccess ? cudaStreamWaitEvent(stream_, reached) : cudaSuccess;
  cudaEventDestroy(reached);
  check_cuda(recorded, "cudaEventRecord");
  check_cuda(waiting, "cudaStreamWaitEvent");
}

Gpu& gpu(const LogicalDevice& device) {
  static std::mutex mutex;
  static auto& gpus = *new std::map<int, std::unique_ptr<Gpu>>;  // streams outlive tensors in static storage
  const std::lock_guard lock(mutex);
  std::unique_ptr<Gpu>& found = gpus[device.index];
  if (!found) found = std::make_unique<Gpu>(device);
  return *found;
}

Gpu& current_gpu() {
  Gpu& current = gpu(current_context().device);
  current.make_current();
  return current;
}

}  // namespace lockstep
