#include <dlfcn.h>
#include <support/pretend_gpu/computing.h>
#include <support/pretend_gpu/cuda/computing.h>
#include <support/pretend_gpu/cuda/pretend_cuda.h>
#include <support/pretend_gpu/kernels.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep::test {
namespace {

/// What the current GPU computes is done by the calling thread, once its stream has done what it was given before.
class CudaComputing final : public PretendGpuComputing {
 public:
  explicit CudaComputing(PretendCuda& cuda) : cuda_(cuda) {}
  DeviceMemory& memory() override { return memory_; }
  void launch() override { cuda_.finish(current_gpu().stream()); }
  bool captures() const override { return cuda_.captures(current_gpu().stream()); }
  void compute(std::function<void()> work) override {
    cudaStream_t const stream = current_gpu().stream();
    if (cuda_.captures(stream))
      return cuda_.note(stream, [this, context = current_context(), work = std::move(work)] {
        const ContextScope there(context);
        const DeviceMemory::Access access(memory_);
        work();
      });
    cuda_.finish(stream);
    const DeviceMemory::Access access(memory_);
    work();
  }
  void report_out_of_range(const std::string& op, std::int64_t place) override {
    current_gpu().index_fault(op)->first = static_cast<unsigned long long>(place);
  }

 private:
  PretendCuda& cuda_;
  DeviceMemory memory_;
};

PretendCudaMemory memory_of(DeviceMemory& memory) {
  return {.allocate = [&](std::size_t bytes) -> void* {
            try {
              return memory.allocate(bytes);
            } catch (const OutOfMemory&) {
              return nullptr;
            }
          },
          .release = [&](void* piece, std::size_t bytes) { memory.release(piece, bytes); },
          .contains = [&](const void* address) { return memory.contains(address); },
          .access =
              [&](const std::function<void()>& work) {
                const DeviceMemory::Access access(memory);
                work();
              }};
}

}  // namespace

PretendCuda* pretend_cuda() {
  void* const found = dlsym(RTLD_DEFAULT, "lockstep_pretend_cuda");
  return found == nullptr ? nullptr : reinterpret_cast<PretendCuda* (*)()>(found)();
}

void install_pretended_cuda(int gpus) {
  PretendCuda* const cuda = pretend_cuda();
  require<LogicError>(cuda != nullptr,
                      "the pretended CUDA has not been loaded before the program's own: set LD_PRELOAD");
  // There until the program's end, as tensors in static storage may be.
  auto& computing = *new CudaComputing(*cuda);
  cuda->start(gpus, memory_of(computing.memory()));
  new kernels::GpuStandInScope(*new PretendGpuKernels(computing));
}

}  // namespace lockstep::test
