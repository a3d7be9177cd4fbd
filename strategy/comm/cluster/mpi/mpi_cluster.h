#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <optional>
#include <thread>

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/mpi/mpi_library.h>
#include <lockstep/strategy/comm/cluster/mpi/mpi_operation.h>

namespace lockstep {

/// A cluster over MPI. One thread sends and receives all messages: it advances the first operation of each channel,
/// sends every other worker a heartbeat up to ten times a second, and receives the others' heartbeats and notices.
/// It uses point-to-point messages instead of MPI's collectives: a waiting worker can then name the late workers and
/// stop waiting when one of them fails, and callers can sum contributions in worker order.
class MpiCluster final : public Cluster {
 public:
  /// Takes ownership of `workers`, whose ranks become the workers' numbers. Every worker must call it. Throws
  /// WorkerFailed, or Timeout if a worker does not call it in time.
  MpiCluster(std::shared_ptr<MpiLibrary> library, MPI_Comm workers, ClusterOptions options);
  /// Waits until all workers destroy their clusters, at most for the timeout or, after a failure, 5 s.
  ~MpiCluster() override;

  int size() const override { return peers_.size; }
  int rank() const override { return peers_.rank; }
  const std::string& host_of(int worker) const override { return hosts_.at(static_cast<std::size_t>(worker)); }
  std::vector<std::string> all_gather(std::string_view place, std::string_view own,
                                      Channel channel = Channel::steps) override;
  void exchange(std::string_view place, std::span<const std::span<const std::byte>> to,
                std::span<const std::span<std::byte>> from, Channel channel = Channel::steps) override;
  void fail_all(std::string_view why) noexcept override;
  std::string failure() const override;

 private:
  using Clock = std::chrono::steady_clock;

  /// The error that made the cluster unusable.
  struct Failure {
    std::string message;
    bool timeout = false;
  };

  /// A notice to one worker that this worker leaves or has failed. It is not part of an operation.
  struct Notice {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void find_hosts();
  /// Notifies the others that this worker ends and waits until they end.
  void leave();
  void wait_for(MpiOperation& operation);
  void fail_here(const std::string& message, bool timeout = false);
  /// Throws a new error object on each call, since its catchers add to its message.
  [[noreturn]] void throw_failure() const;

  // Called on the MPI thread.
  void serve();
  /// The first operation of each channel whose queue is not empty.
  std::vector<MpiOperation*> active_operations();
  void poll(std::span<MpiOperation* const> operations);
  void advance(MpiOperation& operation);
  void finish(MpiOperation& operation);
  bool is_waited_for(const MpiOperation& operation) const;
  bool has_work() const;
  void receive_messages();
  void hear_notice(MPI_Message message, const MPI_Status& status);
  void send_heartbeats();
  void send_notices();
  void notify_all(const std::string& text);
  void check_waits(const MpiOperation& operation);
  void rest(bool busy);
  bool all_left() const;
  bool may_end(Clock::time_point since);
  std::string names_of(const std::vector<int>& workers) const;
  std::string describe_silence(const std::vector<int>& workers, Clock::time_point now) const;

  std::shared_ptr<MpiLibrary> library_;
  MpiPeers peers_;
  ClusterOptions options_;
  std::vector<std::string> hosts_;

  mutable std::mutex mutex_;  ///< protects the following members
  std::condition_variable changed_;
  std::array<std::deque<MpiOperation*>, 2> queues_;  ///< by channel
  std::optional<Failure> failure_;
  std::vector<std::string> unsent_;  ///< notices for all workers
  bool notices_sent_ = true;
  bool leaving_ = false;

  // Used on the MPI thread.
  std::list<Notice> notices_;
  std::vector<Clock::time_point> heard_;  ///< by worker: arrival of its last heartbeat or notice
  std::vector<bool> left_;                ///< by worker: whether it has sent its notice that it ends
  /// Whether this worker has sent its notice that it ends. Afterwards it starts no more heartbeats or notices,
  /// since workers that have also sent that notice may already have exited.
  bool sent_leave_notice_ = false;
  std::vector<MPI_Request> alive_;  ///< by worker: request of the last heartbeat sent to it
  Clock::time_point last_heartbeat_{};
  Clock::time_point last_poll_{};
  int idle_polls_ = 0;

  std::thread thread_;  ///< last: it uses the other members
};

}  // namespace lockstep
