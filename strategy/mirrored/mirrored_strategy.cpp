#include <algorithm>
#include <exception>
#include <mutex>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/memory_resource.h>
#include <lockstep/runtime/thread/worker.h>
#include <lockstep/strategy/core/distributed_variable.h>
#include <lockstep/strategy/core/thread_strategy.h>
#include <lockstep/strategy/mirrored/mirrored_strategy.h>

namespace lockstep {
namespace {

class MirroredState final : public StrategyState, public std::enable_shared_from_this<MirroredState> {
 public:
  MirroredState(std::vector<LogicalDevice> devices, const MirroredOptions& options)
      : devices_(std::move(devices)),
        group_(static_cast<int>(devices_.size()), options.timeout),
        collective_(make_collective(group_, devices_)) {
    const int replicas = static_cast<int>(devices_.size());
    for (int replica = 0; replica < replicas; ++replica) {
      const ExecutionContext context{.device = devices_[replica], .replica = replica, .replicas = replicas};
      workers_.push_back(std::make_unique<Worker>(context));
    }
  }

  const std::vector<LogicalDevice>& devices() const override { return devices_; }
  ReplicaGroup& group() override { return group_; }
  Collective& collective() override { return *collective_; }

  std::shared_ptr<VariableState> create_variable(VariableSpec spec) override {
    return make_distributed_variable(std::move(spec), devices_);
  }

  void run_on_replicas(const std::function<void(int)>& job) override;

 private:
  void run_replica(const std::function<void(int)>& job, int replica);

  std::vector<LogicalDevice> devices_;
  ReplicaGroup group_;
  std::unique_ptr<Collective> collective_;
  std::mutex run_mutex_;  ///< one step at a time
  std::mutex error_mutex_;
  std::exception_ptr first_error_;
  std::exception_ptr released_;                   ///< of a replica that another one's error ended
  std::vector<std::unique_ptr<Worker>> workers_;  ///< last: they end before what they use
};

void MirroredState::run_on_replicas(const std::function<void(int)>& job) {
  const std::lock_guard one_at_a_time(run_mutex_);
  const int replicas = static_cast<int>(workers_.size());
  for (int replica = 0; replica < replicas; ++replica)
    workers_[replica]->submit([&, replica] { run_replica(job, replica); });
  for (const auto& worker : workers_) worker->wait();
  group_.rendezvous().reset();
  const auto released = std::exchange(released_, nullptr);
  if (const auto error = std::exchange(first_error_, nullptr)) std::rethrow_exception(error);
  if (released) std::rethrow_exception(released);
}

/// Keeps the first error of the step and releases the other replicas.
void MirroredState::run_replica(const std::function<void(int)>& job, int replica) {
  thread_strategy() = shared_from_this();
  const auto keep = [&](std::exception_ptr& first, const char* what) {
    {
      const std::lock_guard lock(error_mutex_);
      if (!first) first = std::current_exception();
    }
    group_.rendezvous().abort(fmt::format("replica {}: {}", replica, what));
  };
  try {
    group_.run_timed(replica, job);
    group_.rendezvous().finish(replica);
  } catch (Aborted& error) {  // what caused it is kept by another replica, perhaps later than this
    keep(released_, error.what());
  } catch (Error& error) {
    error.add_context(fmt::format("replica {} ({})", replica, devices_[replica].name()));
    keep(first_error_, error.what());
  } catch (const std::exception& error) {
    keep(first_error_, error.what());
  } catch (...) {
    keep(first_error_, "an exception of unknown type");
  }
  thread_strategy() = nullptr;
}

std::shared_ptr<StrategyState> make_state(std::vector<LogicalDevice> devices, const MirroredOptions& options) {
  require(!devices.empty(), "MirroredStrategy needs at least one device");
  require(options.timeout.count() > 0, "the timeout must be positive, got {} ms", options.timeout.count());
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    require(std::find(devices.begin(), device, *device) == device, "{} is listed twice", device->name());
    memory_resource(*device);  // throws for a device that this build cannot use
  }
  return std::make_shared<MirroredState>(std::move(devices), options);
}

}  // namespace

MirroredStrategy::MirroredStrategy() : MirroredStrategy(logical_cpus(2)) {}

MirroredStrategy::MirroredStrategy(const std::vector<LogicalDevice>& devices, const MirroredOptions& options)
    : Strategy(make_state(devices, options)) {}

MirroredStrategy::MirroredStrategy(const std::vector<std::string>& devices)
    : MirroredStrategy(parse_devices(devices)) {}

}  // namespace lockstep
