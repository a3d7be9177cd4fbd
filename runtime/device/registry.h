#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Every device of the machine, CPUs first. Works without a driver.
std::vector<Device> physical_devices();

/// Free bytes of its memory. The call takes some hundred MB of a GPU for as long as this process
/// runs, as its use would; 0 where another process has exclusive use of it.
std::size_t free_memory(const Device& device);

/// Why there is no GPU: no CUDA in this build, no driver, no device. Empty when there is one.
std::string why_no_gpu();

/// `count` logical CPUs CPU:0 .. CPU:count-1 that share the machine's cores evenly, at least one core each.
/// Throws InvalidArgument unless 1 <= count <= max_logical_cpus.
std::vector<LogicalDevice> logical_cpus(int count);
/// Logical CPUs are CPU:0 .. CPU:63.
inline constexpr int max_logical_cpus = 64;
/// Logical CPUs CPU:0, CPU:1, .. with that many of the cores each: replicas of unequal speed. They may add up to more
/// cores than there are. Throws InvalidArgument for fewer than one core, or more than max_logical_cpus devices or none.
std::vector<LogicalDevice> logical_cpus_with_cores(std::span<const int> cores);

/// `count` logical GPUs GPU:0 .. GPU:count-1, assigned to the physical ones in turn; with more of them than physical
/// GPUs, some share one. Throws Unsupported, saying why, without a GPU, InvalidArgument unless 1 <= count <=
/// max_logical_gpus.
std::vector<LogicalDevice> logical_gpus(int count);
/// Logical GPUs are GPU:0 .. GPU:63.
inline constexpr int max_logical_gpus = 64;
/// The default devices of replicas: `count` logical GPUs where there is a GPU, else logical CPUs; without a count
/// every GPU, or two CPUs. Throws as logical_gpus and logical_cpus.
std::vector<LogicalDevice> default_devices(std::optional<int> count = std::nullopt);

/// The devices that a list names, in its order. Accepted: "CPU:0", "cpu:0", "/cpu:0", "/device:CPU:0", "GPU:1", each
/// with an optional memory limit: "CPU:1@64MiB" (or KiB, GiB, or no unit for bytes).
/// CPUs of the list share the cores evenly. Throws InvalidArgument for text that names no device, for a device that
/// this machine does not have (the ones it has are listed), and for a device named twice.
std::vector<LogicalDevice> parse_devices(std::span<const std::string> names);

/// Hardware threads that this process may use.
int available_cores();

}  // namespace lockstep
