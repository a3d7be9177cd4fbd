#include <map>
#include <memory>
#include <mutex>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/device/cuda/gpu_memory.h>
#include <lockstep/runtime/device/cuda/gpu_report.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep {
namespace {

/// The destructor waits until no launch of the graph is running.
class CudaGraph final : public GpuGraph {
 public:
  /// Takes ownership of `graph`.
  CudaGraph(const Gpu& gpu, cudaGraph_t graph) : gpu_(gpu) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "cudaGraphInstantiate", gpu.device());
  }
  ~CudaGraph() override {
    cudaSetDevice(gpu_.ordinal());
    cudaStreamSynchronize(gpu_.own_stream(StreamKind::compute));
    cudaGraphExecDestroy(executable_);
    static_cast<void>(cudaGetLastError());
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  void launch() const override {
    gpu_.make_current();
    check_cuda(cudaGraphLaunch(executable_, gpu_.stream()), "cudaGraphLaunch", gpu_.device());
  }

 private:
  const Gpu& gpu_;
  cudaGraphExec_t executable_ = nullptr;
};

/// Whether CUDA knows `memory`: pinned or managed memory of a caller or another library. copy_from_pinned takes the
/// library's own.
bool is_known(const void* memory) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  return attributes.type != cudaMemoryTypeUnregistered;
}

/// CUDA has read pageable memory when the call returns ("API synchronization behavior" in CUDA's manual).
/// cudaMemcpyBatchAsync with cudaMemcpySrcAccessOrderDuringApiCall does not ensure this: if other work precedes it in
/// the stream, it reads copies of more than 64 KiB after the call (driver 580.159).
void copy_from_host(void* to, const Gpu& gpu, const void* from, std::size_t bytes) {
  refuse_capture("a copy from the host");
  gpu.make_current();
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu.stream()), "cudaMemcpyAsync", gpu.device());
  if (is_known(from)) check_cuda(cudaStreamSynchronize(gpu.stream()), "cudaStreamSynchronize", gpu.device());
}

void copy_to_host(void* to, const void* from, Gpu& gpu, std::size_t bytes) {
  refuse_capture("a value read by the host");
  gpu.make_current();
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu.stream()), "cudaMemcpyAsync", gpu.device());
  gpu.synchronize();
}

void copy_between(void* to, const Gpu& destination, const void* from, const Gpu& source, std::size_t bytes) {
  destination.wait_for(source);
  destination.make_current();
  const cudaError_t status =
      destination.ordinal() == source.ordinal()
          ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, destination.stream())
          : cudaMemcpyPeerAsync(to, destination.ordinal(), from, source.ordinal(), bytes, destination.stream());
  check_cuda(status, "a copy between GPUs", destination.device());
  source.wait_for(destination);  // before `source` writes to `from` again
}

/// Of the calling thread's GPU: CUDA would create a context on the current device, which a thread that has not yet used
/// a GPU has not chosen.
class PinnedMemory final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes) override {
    refuse_capture("an allocation of pinned memory");
    void* memory = nullptr;
    if (const LogicalDevice& here = current_context().device; here.kind == DeviceKind::gpu) gpu(here).make_current();
    check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return memory;
  }
  void release(void* memory, std::size_t) noexcept override {
    if (const LogicalDevice& here = current_context().device; here.kind == DeviceKind::gpu)
      cudaSetDevice(gpu(here).ordinal());
    const cudaError_t freed = cudaFreeHost(memory);
    if (freed == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    log_warning("cudaFreeHost failed: {}", cudaGetErrorString(freed));
  }
};

class CudaPlatform final : public GpuPlatform {
 public:
  GpuReport report() override { return report_gpus(); }
  int count() override { return count_gpus(); }
  std::size_t free_memory(int gpu) override { return free_memory_of_gpu(gpu); }

  MemoryResource& memory(const LogicalDevice& gpu) override {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<GpuMemory>& found = memories_[gpu.index];
    if (!found) found = std::make_unique<GpuMemory>(lockstep::gpu(gpu));
    return *found;
  }

  MemoryResource& pinned_memory() override { return pinned_memory_; }

  void copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
            std::size_t bytes) override {
    if (bytes == 0) return;
    if (source.kind == DeviceKind::cpu)
      copy_from_host(to, gpu(destination), from, bytes);
    else if (destination.kind == DeviceKind::cpu)
      copy_to_host(to, from, gpu(source), bytes);
    else
      copy_between(to, gpu(destination), from, gpu(source), bytes);
  }

  void copy_from_pinned(void* to, const LogicalDevice& gpu, const void* from, std::size_t bytes) override {
    const Gpu& here = lockstep::gpu(gpu);
    here.make_current();
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, here.stream(StreamKind::input)),
               "cudaMemcpyAsync", gpu);
  }

  void clear(const LogicalDevice& gpu, void* memory, std::size_t bytes) override {
    const Gpu& here = lockstep::gpu(gpu);
    here.make_current();
    check_cuda(cudaMemsetAsync(memory, 0, bytes, here.stream()), "cudaMemsetAsync", gpu);
  }

  void synchronize(const LogicalDevice& gpu) override { lockstep::gpu(gpu).synchronize_streams(); }
  std::unique_ptr<GpuEvent> make_event(const LogicalDevice& gpu) override {
    return std::make_unique<CudaEvent>(lockstep::gpu(gpu));
  }
  void begin_capture(const LogicalDevice& gpu) override { lockstep::gpu(gpu).begin_capture(); }
  std::unique_ptr<GpuGraph> end_capture(const LogicalDevice& gpu) override {
    const Gpu& here = lockstep::gpu(gpu);
    return std::make_unique<CudaGraph>(here, here.end_capture());
  }

 private:
  PinnedMemory pinned_memory_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<GpuMemory>> memories_;  ///< by index of the logical GPU
};

}  // namespace

GpuPlatform& gpu_platform() {
  static auto& cuda = *new CudaPlatform;  // never destroyed: tensors in static storage free memory until the end
  return cuda;
}

}  // namespace lockstep
