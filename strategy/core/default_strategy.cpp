#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/default_strategy.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {
namespace {

class DefaultStrategyState final : public StrategyState {
 public:
  const std::vector<LogicalDevice>& devices() const override { return devices_; }
  void run_on_replicas(const std::function<void(int)>& job) override { job(0); }
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) override {
    return std::make_shared<VariableState>(std::move(spec), devices_);
  }
  ReplicaGroup& group() override { return group_; }
  Collective& collective() override { return *collective_; }

 private:
  std::vector<LogicalDevice> devices_ = logical_cpus(1);
  ReplicaGroup group_{1, std::chrono::hours(1)};  // nobody is ever waited for
  std::unique_ptr<Collective> collective_ = make_collective(group_, devices_);
};

}  // namespace

std::shared_ptr<StrategyState> default_strategy() {
  // One for each thread: its collective keeps what its one replica posts.
  thread_local const auto state = std::make_shared<DefaultStrategyState>();
  return state;
}

}  // namespace lockstep
