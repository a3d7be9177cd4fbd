#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

// A library with the functions of CUDA and NCCL that the sources in folders named cuda/ call, for machines without a
// GPU: loaded before CUDA's own (LD_PRELOAD), or linked in their place in builds without the toolkit, it lets test
// programs run these sources as they are. What a stream is given is done by a thread of the stream's, after a while;
// kernels are not run, their work comes from the test program (PretendGpuKernels).

namespace lockstep::test {

/// The memory of its GPUs, which the test program has.
struct PretendCudaMemory {
  std::function<void*(std::size_t bytes)> allocate{};  ///< null when there is none left
  std::function<void(void* memory, std::size_t bytes)> release{};
  std::function<bool(const void* address)> contains{};
  std::function<void(const std::function<void()>& work)> access{};  ///< does work that may touch it
};

/// What a stream has been given since it was made.
struct StreamProgress {
  std::size_t given = 0;  ///< pieces of work; a wait for an event is one, and each part of a collective
  std::size_t done = 0;   ///< of these, those that are done
  std::size_t waits = 0;  ///< for events
};

/// What all ranks of a communicator were given to do together.
struct PretendCollective {
  std::size_t elements = 0;  ///< of each rank
  std::string operation;     ///< "sum", "mean", "product" or "gather"
};

class PretendCuda {
 public:
  virtual ~PretendCuda() = default;
  /// Makes this a machine with that many GPUs, which reach each other's memory. Before, it has none. Once.
  virtual void start(int gpus, PretendCudaMemory memory) = 0;
  /// Returns when the stream has done all that it has been given. Precondition: it does not capture.
  virtual void finish(cudaStream_t stream) = 0;
  /// Whether the stream captures.
  virtual bool captures(cudaStream_t stream) = 0;
  /// Work for a graph. Precondition: the stream captures.
  virtual void note(cudaStream_t stream, std::function<void()> work) = 0;
  /// How far a stream is.
  virtual StreamProgress progress(cudaStream_t stream) = 0;
  /// Whether streams do their work as late as they can, when something waits for it, instead of soon.
  virtual void defer_work(bool on) = 0;
  /// What NCCL's ranks 0 have been given to do since the last call, in its order.
  virtual std::vector<PretendCollective> take_collectives() = 0;
  /// Of each GPU those whose memory it can address.
  virtual void set_peers(std::vector<std::vector<int>> peers) = 0;
  /// Whether copies from the memory of one GPU to that of another change a bit, as behind an IOMMU.
  virtual void corrupt_copies(int from, int to, bool on) = 0;
  /// Call number `call` of this function of CUDA's from now on fails: 1 for the next.
  virtual void fail(const std::string& function, int call, cudaError_t error) = 0;
  /// Piece of work number `first` that this device is given from now on fails, a copy or a kernel's launch: 1 for the
  /// next; 0 for none.
  virtual void fail_work(int device, std::int64_t first) = 0;
  /// Whether the stream takes a piece of work, which `fail_work` counts.
  virtual bool takes_work(cudaStream_t stream) = 0;
  /// Every call of CUDA's fails with it, as after an illegal access of a kernel's.
  virtual void fail_from_now_on(cudaError_t error) = 0;
  /// Whether what NCCL is given never ends, its making of communicators included, until these are aborted.
  virtual void stall_nccl(bool on) = 0;
  /// Whether all communicators of NCCL's report an error.
  virtual void break_nccl(bool on) = 0;
  /// Whether sums of NCCL's are each rank's own values.
  virtual void falsify_nccl(bool on) = 0;
  /// How often a function of CUDA's or NCCL's has been called.
  virtual std::int64_t calls(const std::string& function) = 0;
  /// How many bytes have been copied from the host to GPUs.
  virtual std::int64_t bytes_from_host() = 0;
};

/// That of the library, when it has been loaded; else null.
PretendCuda* pretend_cuda();

/// PretendCollective::elements of each that PretendCuda::take_collectives gives.
inline std::vector<std::size_t> take_collective_elements() {
  std::vector<std::size_t> elements;
  for (const PretendCollective& taken : pretend_cuda()->take_collectives()) elements.push_back(taken.elements);
  return elements;
}

/// While it lives, streams do their work as late as they can.
class DeferredWork {
 public:
  DeferredWork() { pretend_cuda()->defer_work(true); }
  ~DeferredWork() { pretend_cuda()->defer_work(false); }
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;
};

}  // namespace lockstep::test

/// What the library is found by.
extern "C" lockstep::test::PretendCuda* lockstep_pretend_cuda();
