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

/// Workers that exchange MPI messages. One thread makes all calls of MPI: it moves the messages of the operation in
/// hand, says ten times a second that this worker lives, and hears what the others have to say. Messages go from
/// each worker to each other one, rather than through MPI's collectives: so a wait knows for whom it is, ends when it
/// has to, and values are added in worker order.
class MpiCluster final : public Cluster {
 public:
  /// Takes over `workers`, whose ranks become the workers' numbers.
  MpiCluster(std::shared_ptr<MpiLibrary> library, MPI_Comm workers, ClusterOptions options);
  /// Waits until all workers come here, the longest wait at most; a few seconds when something has failed.
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

  /// What ended the cluster.
  struct Failure {
    std::string message;
    bool timeout = false;
  };

  /// A message to one worker that nobody waits for.
  struct Notice {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void find_hosts();
  /// Says goodbye, and waits for the others'.
  void leave();
  void wait_for(MpiOperation& operation);
  void fail_here(const std::string& message, bool timeout = false);
  /// A new error each time: its catchers add to its message.
  [[noreturn]] void throw_failure() const;

  // On the thread of MPI.
  void serve();
  /// The operations in hand, one of a channel at most.
  std::vector<MpiOperation*> in_hand();
  void take_turn(std::span<MpiOperation* const> operations);
  void advance(MpiOperation& operation);
  void finish(MpiOperation& operation);
  bool is_waited_for(const MpiOperation& operation) const;
  bool has_work() const;
  void hear();
  void hear_notice(MPI_Message message, const MPI_Status& status);
  void say_alive();
  void send_notices();
  void notify_all(const std::string& text);
  void check_waits(const MpiOperation& operation);
  void rest(bool busy);
  bool all_left() const;
  bool may_end(Clock::time_point since);
  std::string names_of(const std::vector<int>& workers) const;
  std::string last_words(const std::vector<int>& workers, Clock::time_point now) const;

  std::shared_ptr<MpiLibrary> library_;
  MpiPeers peers_;
  ClusterOptions options_;
  std::vector<std::string> hosts_;

  mutable std::mutex mutex_;  ///< of the next ones
  std::condition_variable changed_;
  std::array<std::deque<MpiOperation*>, 2> queues_;  ///< by channel
  std::optional<Failure> failure_;
  std::vector<std::string> unsent_;  ///< notices for all workers
  bool notices_sent_ = true;
  bool leaving_ = false;

  // Of the thread of MPI.
  std::list<Notice> notices_;
  std::vector<Clock::time_point> heard_;  ///< by worker: when it last said something
  std::vector<bool> left_;                ///< by worker: whether it has said that it ends
  /// This one has said so: its last message, since others that have said it, too, may be gone after it.
  bool said_goodbye_ = false;
  std::vector<MPI_Request> alive_;  ///< by worker: that this one lives
  Clock::time_point said_alive_{};
  Clock::time_point last_turn_{};
  int turns_without_rest_ = 0;

  std::thread thread_;  ///< last
};

}  // namespace lockstep
