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

// Only files in this folder and their tests include this.

namespace lockstep {

/// NCCL communicators of the GPUs of this process, connected with the GPUs of the other workers if there are any. A
/// watchdog thread aborts all communicators when a collective does not end within the timeout, when NCCL reports an
/// error or when the cluster fails. The error is then thrown by the next call that uses the communicators and by the
/// next Gpu::synchronize or synchronize_streams of each GPU, the latter unless the communicators have been abandoned.
class NcclComms final : public GpuCommunicators {
 public:
  /// Connects the GPUs. `timeout` limits this and each later collective. `cluster` must outlive this; null: all GPUs
  /// are in this process. Throws DeviceError, Timeout, and whatever the cluster throws.
  NcclComms(const std::vector<LogicalDevice>& gpus, std::chrono::milliseconds timeout, Cluster* cluster);
  /// Waits for enqueued collectives, up to the timeout; aborts them after that.
  ~NcclComms() override;
  NcclComms(const NcclComms&) = delete;
  NcclComms& operator=(const NcclComms&) = delete;

  int ranks() const override { return ranks_; }
  /// Throws DeviceError after an abort, and Timeout if NCCL does not complete the call in time. After an error the
  /// watchdog aborts the communicators, because NCCL may have launched the collectives on some GPUs only.
  void enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) override;
  void abandon() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    std::unique_ptr<CudaEvent> end{};
    const char* what = nullptr;
    Clock::time_point since{};
  };
  /// The communicator of one replica.
  struct Member {
    explicit Member(Gpu& of) : gpu(of) {}
    Gpu& gpu;
    std::mutex mutex;  ///< protects the following members: an abort must not free a communicator in use
    ncclComm_t communicator = nullptr;
    std::string aborted;  ///< reason of the abort; empty if there was none
    std::deque<Watched> under_way;
    const char* unfinished = nullptr;  ///< the collective that NCCL is enqueuing, or failed to enqueue; null otherwise
    std::vector<std::unique_ptr<CudaEvent>> spare;
  };

  void make_all();
  /// Polls until NCCL has completed the last call on the communicator, but not later than `end`. Precondition: its
  /// mutex is locked, or no other thread uses it.
  void settle(Member& member, const char* what, Clock::time_point end) const;
  void watch(Member& member, const char* what);
  void watch_all(const std::stop_token& stop);
  /// The error that made the cluster unusable; empty while it is usable.
  std::string failure_of_cluster();
  /// Describes the failure of a member's collectives; empty if they have not failed.
  std::string trouble_of(Member& member) const;
  /// `results_lost`: the GPUs' results cannot be trusted.
  void abort_all(const std::string& reason, bool results_lost);
  void finish_all() noexcept;

  std::chrono::milliseconds timeout_;
  std::mutex cluster_mutex_;  ///< protects cluster_ once the watchdog runs
  Cluster* cluster_;
  std::atomic<bool> aborting_ = false;
  std::atomic<bool> is_abandoned_ = false;
  std::vector<std::unique_ptr<Member>> members_;  ///< by replica
  int ranks_ = 0;                                 ///< number of ranks in all processes
  std::jthread watchdog_;                         ///< last: it uses the other members
};

}  // namespace lockstep
