#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/nccl/gpu_communicators.h>

// Only files in this folder include this.

namespace lockstep {

/// NCCL's communicators of the GPUs of this process, connected with those of other workers where there are any, made
/// together, and a watchdog over what they do: a collective that does not end within the timeout, and an error that
/// NCCL reports, abort all of them. The error is then thrown by the thread that uses them next, and by the next
/// Gpu::synchronize of each GPU.
class NcclComms final : public GpuCommunicators {
 public:
  /// `timeout` is the longest time of the making, and of one collective. A failure of the cluster, which outlives this,
  /// aborts them too; null: all GPUs are in this process. Throws DeviceError, Timeout, and what the cluster throws.
  NcclComms(const std::vector<LogicalDevice>& gpus, std::chrono::milliseconds timeout, Cluster* cluster);
  /// Waits for what has been enqueued, up to the timeout.
  ~NcclComms() override;
  NcclComms(const NcclComms&) = delete;
  NcclComms& operator=(const NcclComms&) = delete;

  int ranks() const override { return ranks_; }
  /// The watchdog aborts a call that does not end in time. Throws DeviceError once the communicators have been aborted.
  void enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    std::unique_ptr<CudaEvent> end{};
    const char* what = nullptr;
    Clock::time_point since{};
  };
  /// Of one replica.
  struct Member {
    explicit Member(Gpu& of) : gpu(of) {}
    Gpu& gpu;
    std::mutex mutex;  ///< of what follows: an abort must not free what a call uses
    ncclComm_t communicator = nullptr;
    std::string aborted;  ///< why; empty while all is well
    std::deque<Watched> under_way;
    std::atomic<Clock::rep> called_since = 0;  ///< when a Call took the mutex; 0 while there is none
    std::vector<std::unique_ptr<CudaEvent>> spare;
  };

  class Call;

  void make_all();
  /// Polls until NCCL has done what was asked of the communicator. Precondition: its mutex is held, or it is not in
  /// use.
  void settle(const Member& member, const char* what) const;
  void watch(Member& member, const char* what);
  void watch_all(const std::stop_token& stop);
  /// What is wrong with a member's collectives; empty when nothing is.
  std::string trouble_of(Member& member) const;
  /// `results_lost`: what the GPUs have computed cannot be trusted.
  void abort_all(const std::string& reason, bool results_lost);
  void finish_all() noexcept;

  std::chrono::milliseconds timeout_;
  Cluster* cluster_;
  std::atomic<bool> aborting_ = false;
  std::vector<std::unique_ptr<Member>> members_;  ///< by replica
  int ranks_ = 0;                                 ///< of all processes
  std::jthread watchdog_;                         ///< last: it ends before what it looks at
};

}  // namespace lockstep
