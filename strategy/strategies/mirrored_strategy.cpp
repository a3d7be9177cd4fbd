#include "lockstep/strategy/strategies/mirrored_strategy.h"

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/distributed_variable.h>
#include <lockstep/strategy/core/threaded_strategy.h>

namespace lockstep {
namespace {

class MirroredState final : public ThreadedStrategy {
 public:
  using ThreadedStrategy::ThreadedStrategy;

  std::shared_ptr<StrategyState> clone() const override {
    return std::make_shared<MirroredState>(devices(), coordination_options());
  }

 private:
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) override {
    if (spec.synchronization == Synchronization::on_read)
      return std::make_shared<SyncOnReadVariable>(std::move(spec), devices(), weak_from_this());
    return std::make_shared<MirroredVariable>(std::move(spec), devices(), weak_from_this());
  }
};

CoordinationOptions coordination_options_of(const MirroredOptions& options) {
  return {.timeout = options.timeout,
          .communication = {options.cross_device_ops, options.bytes_per_pack, options.wire_dtype},
          .sequential = options.sequential};
}

}  // namespace

MirroredStrategy::MirroredStrategy() : MirroredStrategy(default_devices()) {}

MirroredStrategy::MirroredStrategy(const std::vector<LogicalDevice>& devices, const MirroredOptions& options)
    : Strategy(std::make_shared<MirroredState>(devices, coordination_options_of(options))) {}

MirroredStrategy::MirroredStrategy(const std::vector<std::string>& devices)
    : MirroredStrategy(parse_devices(devices)) {}

}  // namespace lockstep
