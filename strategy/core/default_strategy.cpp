#include "lockstep/strategy/core/default_strategy.h"

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/inline_strategy.h>

namespace lockstep {
namespace {

class DefaultStrategy final : public InlineStrategy {
 public:
  DefaultStrategy() : InlineStrategy(logical_cpus(1).front()) {}
  void run_on_replicas(const std::function<void(int)>& job) override { job(0); }
  std::shared_ptr<StrategyState> clone() const override { return default_strategy(); }

 private:
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) override {
    return std::make_shared<VariableState>(std::move(spec), std::vector{current_context().device});
  }
};

}  // namespace

std::shared_ptr<StrategyState> default_strategy() {
  // One for each thread, since its communicator keeps the values that its only replica posts.
  thread_local const auto state = std::make_shared<DefaultStrategy>();
  return state;
}

}  // namespace lockstep
