#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <support/pretend_gpu/pretend_cuda.h>

namespace lockstep::test {

using Works = std::vector<std::function<void()>>;

/// Runs its operations in order, sometimes after a pause. They run on a thread that waits for them or, if there is no
/// such thread, on the stream's own thread.
class Stream {
 public:
  /// A stream of GPU number `device`.
  explicit Stream(int device);
  /// Waits until all work is done.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const { return device_; }
  /// Enqueues an operation; returns the number of operations so far, including this one.
  std::size_t give(std::function<void()> work);
  std::size_t given() const { return progress().given; }
  /// Enqueues a wait for an event, which also counts as an operation.
  void give_wait(std::function<void()> wait);
  StreamProgress progress() const;
  /// Whether the first `count` operations are done.
  bool has_done(std::size_t count) const;
  /// Waits until the first `count` operations are done.
  void await(std::size_t count);
  /// Has the stream's own thread run the first `count` operations now, even if work is deferred; does not wait for
  /// them.
  void want(std::size_t count);

  ///@{
  /// The captured work and the thread that captures it; `captured` is empty while the stream is not being captured.
  std::optional<Works> captured{};
  std::thread::id captures_for{};
  ///@}

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// The loop of the stream's own thread.
  void work();
  /// Whether an operation may begin. `mutex_` must be locked, as for `run`.
  bool may_run() const;
  /// Runs operations until `count` are done or no other may begin.
  void run(Lock& lock, std::size_t count);

  int device_;
  std::condition_variable has_work_, has_progress_;
  mutable std::mutex mutex_;  ///< guards the members below
  bool idle_ = false;         ///< whether the stream's own thread waits for work
  bool urgent_ = false;       ///< whether the stream's own thread must run the work, even if another thread waits
  bool running_ = false;      ///< whether a thread runs operations
  bool stopping_ = false;
  int waiters_ = 0;  ///< number of threads in await()
  std::deque<std::function<void()>> waiting_;
  StreamProgress progress_;
  std::size_t wanted_ = 0;  ///< number of operations that something waits for
  std::minstd_rand random_;
  std::thread thread_;  ///< the last member, since it uses the others
};

/// A point in a stream's work.
struct Event {
  int device = 0;
  std::shared_ptr<Stream> stream{};  ///< null before the first recording
  std::size_t count = 0;
};

/// The state that all functions of the library share.
class PretendCudaMachine final : public PretendCuda {
 public:
  void start(int gpus, PretendCudaMemory memory) override;
  void finish(cudaStream_t stream) override;
  bool captures(cudaStream_t stream) override;
  void note(cudaStream_t stream, std::function<void()> work) override;
  void fail(const std::string& function, int call, cudaError_t error) override;
  void fail_work(int device, std::int64_t first) override;
  bool takes_work(cudaStream_t stream) override;
  void fail_from_now_on(cudaError_t error) override;
  StreamProgress progress(cudaStream_t stream) override;
  void defer_work(bool on) override;
  std::vector<PretendCollective> take_collectives() override;
  void set_peers(std::vector<std::vector<int>> peers) override;
  void corrupt_copies(int from, int to, bool on) override;
  void stall_nccl(bool on) override { nccl_stalls_ = on; }
  void stall_nccl_calls(bool on) override { nccl_calls_stall_ = on; }
  void break_nccl(bool on) override { nccl_is_broken_ = on; }
  void falsify_nccl(bool on) override { nccl_is_false_ = on; }
  std::int64_t calls(const std::string& function) override;
  void note_kernel(const std::string& kernel) override;
  Submissions take_submissions() override;

  int gpus() const { return gpus_; }
  bool nccl_stalls() const { return nccl_stalls_; }
  bool nccl_calls_stall() const { return nccl_calls_stall_; }
  bool nccl_is_broken() const { return nccl_is_broken_; }
  bool nccl_is_false() const { return nccl_is_false_; }
  bool defers_work() const { return defers_work_; }
  bool reaches(int device, int peer);
  bool corrupts(int from, int to);
  void note_collective(PretendCollective collective);
  void note_copy(Submissions::Copies Submissions::*direction, std::size_t bytes);
  /// Counts a fill, a graph launch, or a wait of the host.
  void note(std::int64_t Submissions::*kind);
  PretendCudaMemory& memory() { return memory_; }
  /// Counts a call of `function`; returns the error that the call must return, or cudaSuccess.
  cudaError_t enter(const char* function);

  // Streams by their CUDA handles. `stream` returns null for an unknown handle.

  cudaStream_t add(std::shared_ptr<Stream> stream);
  std::shared_ptr<Stream> stream(cudaStream_t handle);
  void remove(cudaStream_t handle);

  ///@{
  /// Track the allocated memory by address.
  void add_piece(const void* address, std::size_t bytes, int device);
  /// Returns the bytes of the removed allocation; 0 if the address is unknown.
  std::size_t remove_piece(const void* address);
  /// Whether [address, address + bytes) lies in a single allocation of `device`; device -1 stands for pinned host
  /// memory.
  bool in_piece(const void* address, std::size_t bytes, int device);
  ///@}

 private:
  struct Piece {
    std::size_t bytes;
    int device;
  };
  struct Failure {
    std::int64_t call;
    cudaError_t error;
  };
  std::atomic<int> gpus_ = 0;
  std::atomic<bool> nccl_stalls_ = false;
  std::atomic<bool> nccl_calls_stall_ = false;
  std::atomic<bool> nccl_is_broken_ = false;
  std::atomic<bool> nccl_is_false_ = false;
  std::atomic<bool> defers_work_ = false;
  PretendCudaMemory memory_;
  std::mutex mutex_;  ///< guards the members below
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams_;
  std::map<const std::byte*, Piece> pieces_;
  std::map<std::string, std::int64_t> calls_;
  std::map<std::string, Failure> failures_;
  std::map<int, std::int64_t> work_to_failure_;  ///< by device
  std::vector<std::vector<int>> peers_;          ///< by device; if empty, all devices are peers
  std::set<std::pair<int, int>> corrupted_;
  std::vector<PretendCollective> collectives_;
  Submissions submissions_;
  cudaError_t lasting_failure_ = cudaSuccess;
};

/// Never destroyed.
PretendCudaMachine& machine();

}  // namespace lockstep::test
