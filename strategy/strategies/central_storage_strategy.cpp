#include "lockstep/strategy/strategies/central_storage_strategy.h"

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/distributed_variable.h>
#include <lockstep/strategy/core/threaded_strategy.h>

namespace lockstep {
namespace {

LogicalDevice parameter_device_of(const std::vector<LogicalDevice>& devices, const CentralStorageOptions& options) {
  const bool on_first = devices.size() == 1 || (!devices.empty() && devices.front().kind == DeviceKind::gpu);
  return options.parameter_device.value_or(on_first ? devices.front() : logical_cpus(1).front());
}

class CentralStorageState final : public ThreadedStrategy {
 public:
  CentralStorageState(const std::vector<LogicalDevice>& devices, const CentralStorageOptions& options)
      : ThreadedStrategy(devices,
                         {.timeout = options.timeout,
                          .communication = {.cross_device_ops = CrossDeviceOps::shared_memory, .bytes_per_pack = 0},
                          .parameter_devices = {parameter_device_of(devices, options)}}) {
    const LogicalDevice& chosen = parameter_devices().front();
    require<Unsupported>(chosen.kind == devices.front().kind,
                         "replicas on {0}s cannot access variables on {1}: parameter_device must be a {0}",
                         name(devices.front().kind), chosen.name());
  }

  const std::vector<LogicalDevice>& parameter_devices() const override {
    return coordination_options().parameter_devices;
  }
  std::shared_ptr<StrategyState> clone() const override {
    return std::make_shared<CentralStorageState>(devices(),
                                                 CentralStorageOptions{.parameter_device = parameter_devices().front(),
                                                                       .timeout = coordination_options().timeout});
  }

 private:
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) override {
    return std::make_shared<AggregatingVariable>(std::move(spec), parameter_devices(), weak_from_this());
  }
};

}  // namespace

CentralStorageStrategy::CentralStorageStrategy(const std::vector<LogicalDevice>& compute_devices,
                                               const CentralStorageOptions& options)
    : Strategy(std::make_shared<CentralStorageState>(compute_devices, options)) {}

CentralStorageStrategy::CentralStorageStrategy(const std::vector<std::string>& compute_devices)
    : CentralStorageStrategy(parse_devices(compute_devices)) {}

}  // namespace lockstep
