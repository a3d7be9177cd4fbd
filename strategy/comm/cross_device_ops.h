#pragma once

#include <string_view>

namespace lockstep {

/// Algorithms that combine the values of replicas. See connect() (connections.h) for the choice made by `automatic`.
enum class CrossDeviceOps { automatic, shared_memory, nccl, hierarchical_copy, reduction_to_one_device };

/// All values, `automatic` first.
inline constexpr CrossDeviceOps all_cross_device_ops[] = {CrossDeviceOps::automatic, CrossDeviceOps::shared_memory,
                                                          CrossDeviceOps::nccl, CrossDeviceOps::hierarchical_copy,
                                                          CrossDeviceOps::reduction_to_one_device};

/// The name on the command line, e.g. "hierarchical-copy"; "auto" for `automatic`.
std::string_view name(CrossDeviceOps ops);
/// Parses a name, ignoring case. Throws InvalidArgument that lists the names.
CrossDeviceOps parse_cross_device_ops(std::string_view text);

}  // namespace lockstep
