#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// Another worker has failed, has ended or does not answer (the message names it), or MPI has failed.
struct WorkerFailed : Error {
  using Error::Error;
};

/// How long workers wait for each other. Values above longest_timeout (a year) are reduced to it.
struct ClusterOptions {
  /// Longest wait for the other workers in each collective.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
  /// Each worker sends heartbeats, even while it computes. A worker counts as dead when no heartbeat has arrived from
  /// it for this long.
  std::chrono::milliseconds silence_limit{std::chrono::seconds(30)};
  /// Returns whether this process has been asked to end, for example by a signal. While it returns true, half a second
  /// of silence ends a wait for a worker: a launcher that ends all workers when one dies leaves them little time to
  /// report the dead worker. Called on a thread of the cluster. May be empty.
  std::function<bool()> asked_to_end{};

  /// These options with times of at most longest_timeout. Throws InvalidArgument unless both times are positive.
  ClusterOptions checked() const;
};

/// Collectives between workers run in order within a channel. Channels do not wait for each other.
enum class Channel {
  steps,      ///< the program's own collectives
  gradients,  ///< exchanges of gradients that run concurrently with backward
};

/// Throws `E`. Every worker must make this call at the same place, because the error does not count as a failure of a
/// worker and the others are not notified of it.
template <class E = InvalidArgument, class... Args>
[[noreturn]] void throw_together(fmt::format_string<Args...> message, Args&&... args) {
  E error(fmt::format(message, std::forward<Args>(args)...), std::source_location::current());
  error.set_on_all_workers();
  throw error;
}

/// The processes that train together, called workers and numbered from 0. All workers must call the same functions in
/// the same order within each channel, one at a time; `place` names a collective in errors and must be the same on all
/// workers. No call hangs: it throws WorkerFailed when a worker fails or dies, and Timeout, which names the late
/// workers, after ClusterOptions::timeout. After either error the cluster is unusable, and every further collective
/// throws an error with the same message.
class Cluster {
 public:
  virtual ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Number of workers, at least 2.
  virtual int size() const = 0;
  /// This worker's number, from 0.
  virtual int rank() const = 0;
  /// Whether this is worker 0, the only one that writes files and prints to the user.
  bool is_chief() const { return rank() == 0; }
  /// Name of the worker's machine.
  virtual const std::string& host_of(int worker) const = 0;
  /// For messages: "worker 1 (host b)".
  std::string name_of(int worker) const { return fmt::format("worker {} (host {})", worker, host_of(worker)); }

  /// Returns the texts of all workers, in worker order. Throws on all workers: LogicError unless `place` is the same on
  /// all; InvalidArgument, with the worker's name and its message, if a worker calls report instead.
  virtual std::vector<std::string> all_gather(std::string_view place, std::string_view own,
                                              Channel channel = Channel::steps) = 0;
  /// Sends `to[w]` to each other worker w and fills `from[w]` with the bytes that w sends to this worker. `from[w]`
  /// must have the size of the memory that w sends. Ignores to[rank()] and from[rank()].
  virtual void exchange(std::string_view place, std::span<const std::span<const std::byte>> to,
                        std::span<const std::span<std::byte>> from, Channel channel = Channel::steps) = 0;
  /// Notifies all workers that this one has failed: their current and later collectives throw WorkerFailed. The message
  /// contains only the first line of `why`, since libtorch's errors continue with a stack trace. Waits up to 2 s until
  /// the notices have been sent. The cluster is then unusable.
  virtual void fail_all(std::string_view why) noexcept = 0;
  /// Calls fail_all with `prefix` and the message of `error`, unless all workers throw it (throw_together).
  void notify_of(const std::exception_ptr& error, std::string_view prefix = "");

  /// The error that made the cluster unusable; empty while it is usable.
  virtual std::string failure() const = 0;

  /// Copies the chief's `bytes` into `bytes` of every other worker; all sizes must be equal. A collective.
  void broadcast(std::string_view place, std::span<std::byte> bytes);
  /// Throws InvalidArgument on all workers unless `own` is the same on all; the message names two workers and their
  /// values. `what` is the subject and verb of the message: "the version of lockstep is".
  void agree(std::string_view place, std::string_view what, std::string_view own, Channel channel = Channel::steps);
  /// Throws `E` on all workers if any worker passes a message that is not empty. The error contains the first of these
  /// messages, in worker order, and that worker's name. The cluster stays usable. A collective.
  template <class E = InvalidArgument>
  void fail_together(std::string_view place, std::string_view own_message) {
    const std::vector<std::string> messages = all_gather(place, own_message);
    for (int worker = 0; worker < size(); ++worker)
      if (const std::string& message = messages[static_cast<std::size_t>(worker)]; !message.empty())
        throw_together<E>("{}: {}", name_of(worker), message);
  }
  /// Makes the all_gather that the other workers call throw an error that contains the first line of `why`. The cluster
  /// stays usable. A collective.
  void report(std::string_view why);

 protected:
  Cluster() = default;

  /// The place of report's own all_gather.
  static constexpr std::string_view report_place = "the report of an error";
};

/// Connects the processes that mpirun or srun started together; all of them must call it. Returns null for a process
/// that was started alone. A worker's number is its MPI rank or, if TF_CONFIG is set, its number in TF_CONFIG (see
/// ClusterSpec). Throws InvalidArgument for an option that is not positive and for a TF_CONFIG that is invalid or does
/// not fit the number of processes. If workers differ in lockstep's version or in the timeout, or if their TF_CONFIGs
/// do not number them from 0 to size - 1, all workers throw an InvalidArgument that names the difference. Throws
/// Unsupported if a build without MPI runs as several processes or workers, and if MPI provides less than
/// MPI_THREAD_SERIALIZED. Also throws whatever parse_tf_config throws. Waits without a limit until all processes have
/// initialized MPI. After that, throws Timeout if a process does not make this call within ClusterOptions::timeout.
std::shared_ptr<Cluster> join_cluster(const ClusterOptions& options = {});

/// Calls `job` and returns its result. If `job` throws on this worker alone, first notifies the other workers
/// (Cluster::notify_of) and then rethrows. Errors of throw_together are only rethrown. `workers` is null if there is
/// only one worker.
template <class Job>
auto notify_on_failure(Cluster* workers, const Job& job, std::string_view prefix = "") {
  try {
    return job();
  } catch (...) {
    if (workers) workers->notify_of(std::current_exception(), prefix);
    throw;
  }
}

/// Calls `job`, which calls no collective, and returns its result. The next collective of all workers must be an
/// all_gather. If `job` throws on a worker, it throws the same error there, and all_gather throws InvalidArgument on
/// the others (Cluster::report). After a lockstep::Error, the cluster stays usable. `workers` is null if there is only
/// one worker.
template <class Job>
auto report_on_failure(Cluster* workers, const Job& job) {
  if (!workers) return job();
  try {
    return job();
  } catch (Error& error) {
    workers->report(error.what());
    error.add_context(workers->name_of(workers->rank()));
    error.set_on_all_workers();
    throw;
  } catch (const std::exception& error) {
    workers->report(error.what());
    throw;
  }
}

}  // namespace lockstep
