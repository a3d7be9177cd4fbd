#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// Another worker has failed, has ended, or does not answer; the message names it.
struct WorkerFailed : Error {
  using Error::Error;
};

/// How workers wait for each other.
struct ClusterOptions {
  /// Longest wait of a worker for the others.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
  /// Workers say that they live, whatever they compute; one that has said nothing for so long counts as dead.
  std::chrono::milliseconds silence_limit{std::chrono::seconds(30)};
  /// Whether this process has been asked to end, by a signal say. While it says so, a wait for a worker that has said
  /// nothing for half a second ends at once: who starts the workers ends all of them when one dies, and leaves them
  /// little time to say which. Called from a thread of the cluster's. May be empty.
  std::function<bool()> asked_to_end{};

  /// Throws InvalidArgument for a time that is not positive.
  void check() const;
};

/// Independent sequences of collectives between workers: those of one channel do not wait for those of another.
enum class Channel {
  steps,      ///< what the program does, one after the other
  gradients,  ///< what runs beside backward
};

/// The processes, called workers, that train together, each with a number. All of them call the same functions in the
/// same order, for each channel one at a time; `place` names a collective in errors, the same on all of them.
/// Nobody hangs: a wait ends with WorkerFailed when a worker fails or dies, and with Timeout, which names the late
/// ones, after the longest wait. After either the cluster is unusable, and each further call throws the same.
class Cluster {
 public:
  virtual ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// How many workers there are: two or more.
  virtual int size() const = 0;
  /// This worker's number, from 0.
  virtual int rank() const = 0;
  /// Whether this is worker 0, which alone writes files and talks to people.
  bool is_chief() const { return rank() == 0; }
  /// The name of the machine that a worker runs on.
  virtual const std::string& host_of(int worker) const = 0;
  /// "worker 1 (host b)".
  std::string name_of(int worker) const { return fmt::format("worker {} (host {})", worker, host_of(worker)); }

  /// Every worker's text, in worker order. Throws LogicError on all of them when they are not at the same place.
  virtual std::vector<std::string> all_gather(std::string_view place, std::string_view own,
                                              Channel channel = Channel::steps) = 0;
  /// Sends `to[w]` to each other worker w, and fills `from[w]` with what it sends here; sizes have to be what the
  /// workers expect of each other. What is here for this worker itself is left alone.
  virtual void exchange(std::string_view place, std::span<const std::span<const std::byte>> to,
                        std::span<const std::span<std::byte>> from, Channel channel = Channel::steps) = 0;
  /// Notifies all workers that this one fails, and why: their waits, now or later, end with WorkerFailed. Waits a
  /// moment for the news to leave. The cluster is then unusable.
  virtual void fail_all(std::string_view why) noexcept = 0;

  /// What has ended the cluster's use; empty while it is of use.
  virtual std::string failure() const = 0;

  /// The chief's bytes, to all.
  void broadcast(std::string_view place, std::span<std::byte> bytes);
  /// Throws InvalidArgument on all workers, naming two of them and what each one has, unless all have the same.
  /// `what` is what is compared, with its verb: "the version of lockstep is".
  void agree(std::string_view place, std::string_view what, std::string_view own, Channel channel = Channel::steps);
  /// Throws `E` with the message of the first worker that has one, on all of them; the cluster stays usable.
  template <class E = InvalidArgument>
  void fail_together(std::string_view place, std::string_view own_message) {
    const std::vector<std::string> messages = all_gather(place, own_message);
    for (int worker = 0; worker < size(); ++worker)
      if (const std::string& message = messages[static_cast<std::size_t>(worker)]; !message.empty())
        throw_together<E>("{}: {}", name_of(worker), message);
  }
  /// Throws `E`, which every worker has reason to throw at this place: it is no failure of this one.
  template <class E = InvalidArgument, class... Args>
  [[noreturn]] void throw_together(fmt::format_string<Args...> message, Args&&... args) {
    failures_together_.fetch_add(1);
    throw E(fmt::format(message, std::forward<Args>(args)...), std::source_location::current());
  }
  /// How often every worker has thrown the same.
  std::uint64_t failures_together() const { return failures_together_.load(); }

 protected:
  Cluster() = default;

 private:
  std::atomic<std::uint64_t> failures_together_ = 0;
};

/// Part `index` of the `parts` about equal ones that `bytes` are cut into, on the borders of cache lines.
std::pair<std::size_t, std::size_t> part_of_bytes(std::size_t bytes, int index, int parts);

/// The workers that were started together with this process, by mpirun or srun; null for a process alone. All workers
/// call it. Their numbers are those of MPI, or of TF_CONFIG where that is set (see ClusterSpec). Throws InvalidArgument
/// for an option that is not positive and for a TF_CONFIG that does not fit the workers there are; Unsupported where
/// this build has no MPI, or MPI does not allow calls from threads; on all workers InvalidArgument, naming the
/// difference, when their versions or timeouts differ.
std::shared_ptr<Cluster> join_cluster(const ClusterOptions& options = {});

}  // namespace lockstep
