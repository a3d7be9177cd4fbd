#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

// A library with the functions of CUDA and NCCL that the sources in folders named cuda/ call, for machines without a
// GPU. Loaded before CUDA's own libraries (LD_PRELOAD), or linked instead of them in builds without the toolkit, it
// lets test programs run these sources unchanged. Each stream has a thread, which does the stream's work after a while.
// Kernels are not run: their work comes from the test program (PretendGpuKernels).

namespace lockstep::test {

/// The memory of the pretended GPUs, which the test program provides.
struct PretendCudaMemory {
  std::function<void*(std::size_t bytes)> allocate{};  ///< returns null if none is left
  std::function<void(void* memory, std::size_t bytes)> release{};
  std::function<bool(const void* address)> contains{};
  std::function<void(const std::function<void()>& work)> access{};  ///< runs work that may access the memory
};

/// The work of a stream since it was made.
struct StreamProgress {
  std::size_t given = 0;  ///< pieces of work, among them waits for events and parts of collectives
  std::size_t done = 0;   ///< of these, the pieces that are done
  std::size_t waits = 0;  ///< of these, the waits for events
};

/// A collective of all ranks of a communicator.
struct PretendCollective {
  std::size_t elements = 0;  ///< of each rank
  std::string operation;     ///< "sum", "mean", "product" or "gather"
};

/// What a program has submitted to the streams of all GPUs. A graph is one submission, whatever it contains.
struct Submissions {
  struct Copies {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, std::int64_t> kernels{};  ///< kernels::launch and calls of libraries, by the kernel's name
  Copies from_host{}, to_host{}, between_gpus{};  ///< `between_gpus`: also from a GPU's memory to the same GPU's
  std::int64_t fills = 0;                         ///< cudaMemsetAsync
  std::int64_t graphs = 0;
  ///@{
  /// Calls in which the host waits for all work of a stream, or for an event.
  std::int64_t stream_waits = 0, event_waits = 0;
  ///@}
};

class PretendCuda {
 public:
  virtual ~PretendCuda() = default;
  /// Gives the machine `gpus` GPUs, which reach each other's memory; before, it has none. Call it once.
  virtual void start(int gpus, PretendCudaMemory memory) = 0;
  /// Waits until the stream has done all its work. Precondition: the stream does not capture.
  virtual void finish(cudaStream_t stream) = 0;
  virtual bool captures(cudaStream_t stream) = 0;
  /// Adds work to the graph that the stream captures. Precondition: the stream captures.
  virtual void note(cudaStream_t stream, std::function<void()> work) = 0;
  virtual StreamProgress progress(cudaStream_t stream) = 0;
  /// Whether streams do their work only when something waits for it, instead of soon.
  virtual void defer_work(bool on) = 0;
  /// The collectives that NCCL's ranks 0 have been given since the last call, in this order.
  virtual std::vector<PretendCollective> take_collectives() = 0;
  /// peers[i]: the GPUs whose memory GPU i can access.
  virtual void set_peers(std::vector<std::vector<int>> peers) = 0;
  /// Whether copies from the memory of GPU `from` to that of GPU `to` change a bit, as behind an IOMMU.
  virtual void corrupt_copies(int from, int to, bool on) = 0;
  /// Makes one later call of a CUDA function fail: number `call` from now on, 1 for the next.
  virtual void fail(const std::string& function, int call, cudaError_t error) = 0;
  /// Makes one later piece of work of a device fail, a copy or a kernel's launch: number `first` from now on, 1 for the
  /// next; 0 for none.
  virtual void fail_work(int device, std::int64_t first) = 0;
  /// Counts a piece of work for `fail_work`; returns false if it has to fail.
  virtual bool takes_work(cudaStream_t stream) = 0;
  /// Makes every later CUDA call fail with `error`, as after an illegal access by a kernel.
  virtual void fail_from_now_on(cudaError_t error) = 0;
  /// Whether NCCL's operations, including the making of communicators, do not end until the communicators are aborted.
  virtual void stall_nccl(bool on) = 0;
  /// Whether all NCCL communicators report an error.
  virtual void break_nccl(bool on) = 0;
  /// Whether NCCL's reductions give each rank its own values.
  virtual void falsify_nccl(bool on) = 0;
  /// How often a function of CUDA or NCCL has been called.
  virtual std::int64_t calls(const std::string& function) = 0;
  /// Counts the launch of a kernel.
  virtual void note_kernel(const std::string& kernel) = 0;
  /// The submissions since the last call.
  virtual Submissions take_submissions() = 0;
};

/// The library's object; null if the library has not been loaded.
PretendCuda* pretend_cuda();

/// The elements of each collective of PretendCuda::take_collectives.
inline std::vector<std::size_t> take_collective_elements() {
  std::vector<std::size_t> elements;
  for (const PretendCollective& taken : pretend_cuda()->take_collectives()) elements.push_back(taken.elements);
  return elements;
}

/// During its lifetime, streams do their work only when something waits for it.
class DeferredWork {
 public:
  DeferredWork() { pretend_cuda()->defer_work(true); }
  ~DeferredWork() { pretend_cuda()->defer_work(false); }
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;
};

}  // namespace lockstep::test

/// The library's entry point, which `pretend_cuda` looks up.
extern "C" lockstep::test::PretendCuda* lockstep_pretend_cuda();
