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
// lets test programs run these sources unchanged. Each stream has a thread that does the stream's work asynchronously,
// sometimes after a pause. The library does not run kernels; the test program does (PretendGpuKernels).

namespace lockstep::test {

/// The memory of the pretended GPUs, which the test program provides.
struct PretendCudaMemory {
  std::function<void*(std::size_t bytes)> allocate{};  ///< returns null if no memory is left
  std::function<void(void* memory, std::size_t bytes)> release{};
  std::function<bool(const void* address)> contains{};
  std::function<void(const std::function<void()>& work)> access{};  ///< runs work that may access the memory
};

/// The work of a stream since its creation.
struct StreamProgress {
  std::size_t given = 0;  ///< number of operations enqueued, including waits for events and parts of collectives
  std::size_t done = 0;   ///< number of enqueued operations that are done
  std::size_t waits = 0;  ///< number of enqueued operations that are waits for events
};

/// A collective of all ranks of a communicator.
struct PretendCollective {
  std::size_t elements = 0;  ///< number of elements of each rank
  std::string operation;     ///< "sum", "mean", "product" or "gather"
};

/// What a program has submitted to the streams of all GPUs. A launch of a graph is one submission, whatever the graph
/// contains.
struct Submissions {
  struct Copies {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, std::int64_t> kernels{};  ///< numbers of kernel launches and of library calls, by name
  Copies from_host{}, to_host{}, between_gpus{};  ///< `between_gpus` includes copies within a GPU's memory
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
  /// Makes `gpus` GPUs available, which are peers of each other. Before this call there are no GPUs. Call it once.
  virtual void start(int gpus, PretendCudaMemory memory) = 0;
  /// Waits until the stream has done all its work. Precondition: the stream is not being captured.
  virtual void finish(cudaStream_t stream) = 0;
  virtual bool captures(cudaStream_t stream) = 0;
  /// Adds work to the graph that is being captured from the stream. Precondition: the stream is being captured.
  virtual void note(cudaStream_t stream, std::function<void()> work) = 0;
  virtual StreamProgress progress(cudaStream_t stream) = 0;
  /// If `on`, streams do their work only when something waits for it.
  virtual void defer_work(bool on) = 0;
  /// The collectives that rank 0 of each NCCL communicator has submitted since the last call, in the order of
  /// submission.
  virtual std::vector<PretendCollective> take_collectives() = 0;
  /// peers[i]: the GPUs whose memory GPU i can access.
  virtual void set_peers(std::vector<std::vector<int>> peers) = 0;
  /// If `on`, copies from GPU `from` to GPU `to` flip one bit, like an IOMMU that redirects copies and corrupts data.
  virtual void corrupt_copies(int from, int to, bool on) = 0;
  /// Makes one later call of a CUDA function fail with `error`: the next call for `call` = 1, the second next for 2,
  /// and so on.
  virtual void fail(const std::string& function, int call, cudaError_t error) = 0;
  /// Makes one later copy or kernel launch on a device fail: the next one for `first` = 1, the second next for 2, and
  /// so on. 0 makes none fail.
  virtual void fail_work(int device, std::int64_t first) = 0;
  /// Counts a copy or kernel launch on the stream's device for `fail_work`; returns false if it must fail.
  virtual bool takes_work(cudaStream_t stream) = 0;
  /// Makes every later CUDA call fail with `error`, as after an illegal access by a kernel.
  virtual void fail_from_now_on(cudaError_t error) = 0;
  /// If `on`, NCCL's operations, including the creation of communicators, hang until the communicators are revoked or
  /// aborted.
  virtual void stall_nccl(bool on) = 0;
  /// If `on`, calls of NCCL's collectives stay in progress and enqueue nothing until the communicators are aborted.
  virtual void stall_nccl_calls(bool on) = 0;
  /// If `on`, all NCCL communicators report an asynchronous error.
  virtual void break_nccl(bool on) = 0;
  /// If `on`, NCCL's reductions return each rank's own input instead of the result.
  virtual void falsify_nccl(bool on) = 0;
  /// Number of calls of a function of CUDA or NCCL so far.
  virtual std::int64_t calls(const std::string& function) = 0;
  /// Counts the launch of a kernel.
  virtual void note_kernel(const std::string& kernel) = 0;
  /// The submissions since the last call.
  virtual Submissions take_submissions() = 0;
};

/// The library's object; null if the library has not been loaded.
PretendCuda* pretend_cuda();

/// Calls PretendCuda::take_collectives and returns the number of elements of each collective.
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
