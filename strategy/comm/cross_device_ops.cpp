#include "lockstep/strategy/comm/cross_device_ops.h"

#include <string>
#include <vector>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/lower_case.h>

namespace lockstep {

std::string_view name(CrossDeviceOps ops) {
  constexpr std::string_view names[] = {"auto", "shared-memory", "nccl", "hierarchical-copy",
                                        "reduction-to-one-device"};
  return names[static_cast<int>(ops)];
}

CrossDeviceOps parse_cross_device_ops(std::string_view text) {
  const std::string lower = lower_case(text);
  std::vector<std::string_view> names;
  for (const CrossDeviceOps ops : all_cross_device_ops) {
    if (lower == name(ops)) return ops;
    names.push_back(name(ops));
  }
  fail("'{}' names no cross-device ops; choose one of {}", text, fmt::join(names, ", "));
}

}  // namespace lockstep
