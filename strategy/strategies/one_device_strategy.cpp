#include "lockstep/strategy/strategies/one_device_strategy.h"

#include <mutex>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/strategy/core/inline_strategy.h>
#include <lockstep/strategy/core/thread_strategy.h>

namespace lockstep {
namespace {

class OneDeviceState final : public InlineStrategy, public std::enable_shared_from_this<OneDeviceState> {
 public:
  using InlineStrategy::InlineStrategy;

  void run_on_replicas(const std::function<void(int)>& job) override {
    const std::lock_guard one_at_a_time(run_mutex_);
    const Scope scope(shared_from_this());  // opened before the replica's context, in which scopes are not allowed
    const ContextScope context({.device = devices().front(), .replica = 0, .replicas = 1});
    const ComputeThreadsScope threads(devices().front().cores);
    try {
      job(0);
    } catch (Error& error) {
      error.add_context(fmt::format("replica 0 ({})", devices().front().name()));
      throw;
    }
  }

  std::shared_ptr<StrategyState> clone() const override { return std::make_shared<OneDeviceState>(devices().front()); }

 private:
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) override {
    return std::make_shared<VariableState>(std::move(spec), devices());
  }

  std::recursive_mutex run_mutex_;  ///< allows one step at a time; recursive, since a merge may run another step
};

LogicalDevice only_device(const std::string& name) { return parse_devices(std::span(&name, 1)).front(); }

}  // namespace

OneDeviceStrategy::OneDeviceStrategy(const LogicalDevice& device)
    : Strategy(std::make_shared<OneDeviceState>(device)) {}

OneDeviceStrategy::OneDeviceStrategy(const std::string& device) : OneDeviceStrategy(only_device(device)) {}

}  // namespace lockstep
