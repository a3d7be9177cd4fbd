#include "lockstep/strategy/core/threaded_strategy.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/memory/device_memory.h>
#include <lockstep/runtime/thread/thread_team.h>
#include <lockstep/strategy/core/creator.h>
#include <lockstep/strategy/core/names.h>
#include <lockstep/strategy/core/thread_strategy.h>

namespace lockstep {

/// The replicas' threads and their coordination. A run inside a merge has its own threads, since the threads of the
/// outer run are waiting.
class ThreadedStrategy::ReplicaThreads {
 public:
  /// `gpus`: the collectives of the outer run, if this one runs inside its merges.
  ReplicaThreads(const std::vector<LogicalDevice>& devices, const CoordinationOptions& options,
                 std::shared_ptr<GpuCollectives> gpus = {});

  void run(const std::shared_ptr<StrategyState>& strategy, const std::function<void(int)>& job);
  Coordination& coordination() { return coordination_; }
  /// The threads for runs inside this one's merges, made on first use.
  ReplicaThreads& inner();

  /// The object that the calling thread belongs to while it runs a replica; null otherwise.
  static ReplicaThreads*& of_this_thread();

 private:
  /// Runs the job of one replica's step, inside the name scopes of the caller. Does not throw; stores the error and
  /// releases all replicas, even if there is no memory for the error's text.
  void run_replica(const std::shared_ptr<StrategyState>& strategy, const std::function<void(int)>& job, int replica,
                   const std::string& callers_names);
  /// Waits for a failed step's work on GPUs, which may still use memory that the next step reuses.
  void let_gpus_end() const;
  /// Stores the current exception in `first` if that is empty, and releases the other replicas.
  void keep(std::exception_ptr& first, int replica, const char* what);

  std::vector<LogicalDevice> devices_;
  CoordinationOptions options_;
  Coordination coordination_;
  std::mutex run_mutex_;  ///< one step at a time
  std::mutex error_mutex_;
  std::exception_ptr first_error_;
  std::exception_ptr released_;            ///< Aborted, of a replica that was stopped after another replica's error
  std::unique_ptr<ReplicaThreads> inner_;  ///< made by the only thread that merges
  ThreadTeam threads_;                     ///< last, so that the threads end before the members that they use
};

namespace {

std::vector<ExecutionContext> contexts_of(const std::vector<LogicalDevice>& devices, const Cluster* cluster) {
  std::vector<ExecutionContext> contexts;
  const int replicas = static_cast<int>(devices.size());
  for (int replica = 0; replica < replicas; ++replica)
    contexts.push_back({.device = devices[replica],
                        .replica = replica,
                        .replicas = replicas,
                        .first_replica = cluster ? cluster->rank() * replicas : 0,
                        .replicas_in_sync = cluster ? cluster->size() * replicas : replicas});
  return contexts;
}

/// Calls `improve`, which completes an error message; does nothing if there is no memory for it.
template <class Improve>
void without_memory_leave_it(const Improve& improve) {
  try {
    improve();
  } catch (const std::bad_alloc&) {
  }
}

/// The name scopes of a replica's step, inside those of its caller.
std::string names_of_replica(const std::string& caller, int replica) {
  if (replica == 0) return caller;
  return fmt::format("{}{}replica_{}", caller, caller.empty() ? "" : "/", replica);
}

}  // namespace

ThreadedStrategy::ReplicaThreads::ReplicaThreads(const std::vector<LogicalDevice>& devices,
                                                 const CoordinationOptions& options,
                                                 std::shared_ptr<GpuCollectives> gpus)
    : devices_(devices),
      options_(options),
      coordination_{.group{devices, options.timeout, options.sequential, options.parameter_devices}},
      threads_(contexts_of(devices, options.communication.cluster.get())) {
  coordination_.connections = connect(coordination_.group, devices_, options_.communication, std::move(gpus));
}

ThreadedStrategy::ReplicaThreads*& ThreadedStrategy::ReplicaThreads::of_this_thread() {
  thread_local ReplicaThreads* threads = nullptr;
  return threads;
}

ThreadedStrategy::ReplicaThreads& ThreadedStrategy::ReplicaThreads::inner() {
  if (!inner_) inner_ = std::make_unique<ReplicaThreads>(devices_, options_, coordination_.connections.gpus);
  return *inner_;
}

void ThreadedStrategy::ReplicaThreads::run(const std::shared_ptr<StrategyState>& strategy,
                                           const std::function<void(int)>& job) {
  const std::lock_guard one_at_a_time(run_mutex_);
  const std::string names = current_name_scope();
  const std::shared_ptr<const VariableCreators> creators = thread_creators();
  Cluster* const cluster = options_.communication.cluster.get();
  threads_.run([&](int replica) {
    thread_creators() = creators;
    run_replica(strategy, job, replica, names);
    thread_creators() = nullptr;
  });
  coordination_.group.rendezvous().reset();
  if (first_error_ || released_) {
    if (cluster && first_error_) cluster->notify_of(first_error_);
    // Before the wait for GPUs, since other workers may not contribute their parts of the running collectives.
    coordination_.connections.update->abandon_step();
    coordination_.merge_point.abandon_step();
    let_gpus_end();
  }
  const auto released = std::exchange(released_, nullptr);
  if (const auto error = std::exchange(first_error_, nullptr)) std::rethrow_exception(error);
  if (released) std::rethrow_exception(released);
}

void ThreadedStrategy::ReplicaThreads::let_gpus_end() const {
  for (const LogicalDevice& device : devices_) {
    try {
      synchronize(device);
    } catch (const Error& error) {
      log_warning("after a failed step, a replica's device failed, too: {}", error.what());
    }
  }
}

void ThreadedStrategy::ReplicaThreads::run_replica(const std::shared_ptr<StrategyState>& strategy,
                                                   const std::function<void(int)>& job, int replica,
                                                   const std::string& callers_names) {
  thread_strategy() = strategy;
  of_this_thread() = this;
  std::optional<NameScope> name_scope;
  try {
    const std::string names = names_of_replica(callers_names, replica);
    if (!names.empty()) name_scope.emplace(names);
    coordination_.group.run_timed(replica, job);
    coordination_.group.rendezvous().finish(replica);
  } catch (Aborted& error) {  // another replica stores the cause, perhaps later than this
    keep(released_, replica, error.what());
  } catch (Error& error) {
    without_memory_leave_it([&] {
      error.add_context(fmt::format("replica {} ({})", current_context().replica_in_sync(), devices_[replica].name()));
    });
    keep(first_error_, replica, error.what());
  } catch (const std::exception& error) {
    keep(first_error_, replica, error.what());
  } catch (...) {
    keep(first_error_, replica, "an exception of unknown type");
  }
  of_this_thread() = nullptr;
  thread_strategy() = nullptr;
}

void ThreadedStrategy::ReplicaThreads::keep(std::exception_ptr& first, int replica, const char* what) {
  {
    const std::lock_guard lock(error_mutex_);
    if (!first) first = std::current_exception();
  }
  std::string reason;
  without_memory_leave_it([&] { reason = fmt::format("replica {}: {}", replica, what); });
  coordination_.group.rendezvous().abort(replica, std::move(reason));
}

ThreadedStrategy::ThreadedStrategy(std::vector<LogicalDevice> devices, const CoordinationOptions& options)
    : devices_(std::move(devices)), options_(options) {
  require(!devices_.empty(), "a strategy needs at least one device");
  require(options.timeout.count() > 0, "the timeout must be positive, got {} ms", options.timeout.count());
  for (auto device = devices_.begin(); device != devices_.end(); ++device) {
    require(std::find(devices_.begin(), device, *device) == device, "{} is listed twice", device->name());
    memory_resource(*device);  // throws for a device that this build cannot use
  }
  replica_threads_ = std::make_unique<ReplicaThreads>(devices_, options_);
}

ThreadedStrategy::~ThreadedStrategy() = default;

ThreadedStrategy::ReplicaThreads& ThreadedStrategy::threads_for_run() {
  ReplicaThreads* const around = ReplicaThreads::of_this_thread();
  return around ? around->inner() : *replica_threads_;
}

void ThreadedStrategy::run_on_replicas(const std::function<void(int)>& job) {
  threads_for_run().run(shared_from_this(), job);
  has_stepped_ = true;
}

Coordination& ThreadedStrategy::coordination() {
  ReplicaThreads* const around = ReplicaThreads::of_this_thread();
  return around ? around->coordination() : replica_threads_->coordination();
}

}  // namespace lockstep
