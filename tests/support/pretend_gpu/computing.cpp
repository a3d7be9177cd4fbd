#include <memory>
#include <vector>

#include <dlfcn.h>
#include <support/pretend_gpu/computing.h>
#include <support/pretend_gpu/kernels.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep::test {
namespace {

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

void PretendGpuComputing::take_work(cudaStream_t stream) {
  check_cuda(cuda_.takes_work(stream) ? cudaSuccess : cudaErrorInvalidConfiguration, "a kernel's launch");
}

void PretendGpuComputing::launch(const char* kernel) {
  cudaStream_t const stream = current_gpu().stream();
  take_work(stream);
  cuda_.note_kernel(kernel);
  cuda_.finish(stream);
}

bool PretendGpuComputing::captures() const { return cuda_.captures(current_gpu().stream()); }

void PretendGpuComputing::compute(const char* kernel, std::function<void()> work) {
  cudaStream_t const stream = current_gpu().stream();
  if (cuda_.captures(stream)) {
    take_work(stream);
    return cuda_.note(stream, [this, context = current_context(), work = std::move(work)] {
      const ContextScope there(context);
      const DeviceMemory::Access access(memory_);
      work();
    });
  }
  launch(kernel);
  const DeviceMemory::Access access(memory_);
  work();
}

void PretendGpuComputing::report_out_of_range(const std::string& op, std::int64_t place) {
  current_gpu().index_fault(op)->first = static_cast<unsigned long long>(place);
}

PretendCuda* pretend_cuda() {
  void* const found = dlsym(RTLD_DEFAULT, "lockstep_pretend_cuda");
  return found == nullptr ? nullptr : reinterpret_cast<PretendCuda* (*)()>(found)();
}

void install_pretended_cuda(int gpus) {
  PretendCuda* const cuda = pretend_cuda();
  require<LogicError>(cuda != nullptr,
                      "the pretended CUDA has not been loaded before the program's own: set LD_PRELOAD");
  // Never destroyed: tensors in static storage may exist until the program's end.
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  const auto computing = std::make_shared<PretendGpuComputing>(*cuda);
  const auto stand_in = std::make_shared<PretendGpuKernels>(*computing);
  cuda->start(gpus, memory_of(computing->memory()));
  kept = {computing, stand_in, std::make_shared<kernels::GpuStandInScope>(*stand_in)};
}

StreamProgress progress_of(const Stream& stream) {
  return pretend_cuda()->progress(gpu(stream.gpu).own_stream(stream.kind));
}

}  // namespace lockstep::test
