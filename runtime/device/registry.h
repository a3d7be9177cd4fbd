#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// The CPU and then the GPUs of the machine; without a GPU driver, only the CPU. Throws Unsupported if the driver
/// cannot describe a GPU.
std::vector<Device> physical_devices();

/// Free memory of the device in bytes. For a GPU the call, like any use of the GPU, creates a CUDA context, which takes
/// a few hundred MB until this process ends. Returns 0 if this process cannot have a context, for example because
/// another process has exclusive use of the GPU.
std::size_t free_memory(const Device& device);

/// Why there is no GPU: no CUDA in this build, no driver or no device. Empty if there is a GPU.
std::string why_no_gpu();

/// `count` logical CPUs CPU:0 .. CPU:count-1, each with available_cores() / count cores, rounded down, at least one.
/// Throws InvalidArgument unless 1 <= count <= max_logical_cpus.
std::vector<LogicalDevice> logical_cpus(int count);
/// Logical CPUs are CPU:0 .. CPU:63.
inline constexpr int max_logical_cpus = 64;
/// Logical CPUs CPU:0, CPU:1, ..; CPU:i has cores[i] cores, for replicas of unequal speed. The sum may exceed the cores
/// of the machine. Throws InvalidArgument if any cores[i] is less than 1 or their number is not from 1 to
/// max_logical_cpus.
std::vector<LogicalDevice> logical_cpus_with_cores(std::span<const int> cores);

/// `count` logical GPUs GPU:0 .. GPU:count-1, assigned to the physical GPUs in turn; if there are more logical than
/// physical GPUs, some share one. Throws Unsupported with the reason if there is no GPU. Throws InvalidArgument unless
/// 1 <= count <= max_logical_gpus.
std::vector<LogicalDevice> logical_gpus(int count);
/// Logical GPUs are GPU:0 .. GPU:63.
inline constexpr int max_logical_gpus = 64;
/// The default devices of replicas: `count` logical GPUs if there is a GPU, else `count` logical CPUs. The default
/// count is the number of GPUs or, without a GPU, 2. Throws the same errors as logical_gpus and logical_cpus.
std::vector<LogicalDevice> default_devices(std::optional<int> count = std::nullopt);

/// The named devices, in the order of the names. Accepted names are "CPU:0", "/CPU:0", "/device:CPU:0", and the same
/// for GPUs, in upper or lower case, each with an optional memory limit: "CPU:1@64MiB" (or KiB, GiB, or no unit for
/// bytes). The named CPUs share the cores as in logical_cpus. Throws InvalidArgument for an empty list, a name or limit
/// that cannot be parsed, a CPU beyond CPU:63, a GPU whose index no physical GPU has, and a device named twice.
std::vector<LogicalDevice> parse_devices(std::span<const std::string> names);

/// Hardware threads that this process may use.
int available_cores();

}  // namespace lockstep
