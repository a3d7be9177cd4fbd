#pragma once

#include <string_view>

namespace lockstep {

/// The ways of combining the values of replicas; connect says what `automatic` stands for.
enum class CrossDeviceOps { automatic, shared_memory, nccl, hierarchical_copy, reduction_to_one_device };

/// Each of them once, `automatic` first.
inline constexpr CrossDeviceOps all_cross_device_ops[] = {CrossDeviceOps::automatic, CrossDeviceOps::shared_memory,
                                                          CrossDeviceOps::nccl, CrossDeviceOps::hierarchical_copy,
                                                          CrossDeviceOps::reduction_to_one_device};

/// As on the command line, e.g. "hierarchical-copy"; `automatic` is "auto".
std::string_view name(CrossDeviceOps ops);
/// The value of a name in any case. Throws InvalidArgument that lists the names.
CrossDeviceOps parse_cross_device_ops(std::string_view text);

}  // namespace lockstep
