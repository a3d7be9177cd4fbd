#include "lockstep/runtime/device/registry.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <limits>
#include <system_error>

#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/parse_number.h>
#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {
namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "CPU";
}

/// The size of the pages that sysconf(what) counts.
std::size_t bytes_of_pages(int what) {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) * static_cast<std::size_t>(sysconf(what));
}

Device describe_cpu() {
  Device cpu{.kind = DeviceKind::cpu, .index = 0, .model = cpu_model()};
  cpu.memory_total = bytes_of_pages(_SC_PHYS_PAGES);
  cpu.cores = available_cores();
  return cpu;
}

/// Parses a limit such as "64MiB" of `device` into bytes.
std::size_t parse_memory_limit(std::string_view text, std::string_view device) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const int shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  require(error == std::errc() && count > 0 && shift >= 0 && count <= std::numeric_limits<std::size_t>::max() >> shift,
          "'{}' has no memory limit after its @; write for example CPU:1@64MiB", device);
  return count << shift;
}

/// Parses any accepted spelling of a device, such as "/device:CPU:1@64MiB".
LogicalDevice parse_device(std::string_view text) {
  const std::size_t at = std::min(text.find('@'), text.size());
  const std::size_t limit = at < text.size() ? parse_memory_limit(text.substr(at + 1), text) : 0;
  std::string_view rest = text.substr(0, at);
  if (rest.starts_with('/')) rest.remove_prefix(1);
  std::string upper(rest);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string_view canonical = upper;
  if (canonical.starts_with("DEVICE:")) canonical.remove_prefix(7);
  const std::string_view kind = canonical.substr(0, 4);
  const int index = parse_number<int>(canonical.substr(kind.size())).value_or(-1);
  require((kind == "CPU:" || kind == "GPU:") && index >= 0, "'{}' names no device; write for example CPU:0 or GPU:1",
          text);
  return {kind == "CPU:" ? DeviceKind::cpu : DeviceKind::gpu, index, 1, limit};
}

void require_exists(const LogicalDevice& device) {
  if (device.kind == DeviceKind::cpu) {
    require(device.index < max_logical_cpus, "{} does not exist; logical CPUs are CPU:0 .. CPU:{}", device.name(),
            max_logical_cpus - 1);
    return;
  }
  const int gpus = gpu_platform().count();
  require(device.index < gpus, "{} does not exist: {}", device.name(),
          gpus == 0 ? why_no_gpu() : fmt::format("this machine has {} GPU(s)", gpus));
}

}  // namespace

std::string_view name(DeviceKind kind) { return kind == DeviceKind::cpu ? "CPU" : "GPU"; }

std::string LogicalDevice::name() const { return fmt::format("{}:{}", lockstep::name(kind), index); }

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // The affinity mask, unlike the number of processors, knows about taskset and containers.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::vector<Device> physical_devices() {
  std::vector<Device> devices{describe_cpu()};
  for (Device& gpu : gpu_platform().report().devices) devices.push_back(std::move(gpu));
  return devices;
}

std::size_t free_memory(const Device& device) {
  return device.kind == DeviceKind::cpu ? bytes_of_pages(_SC_AVPHYS_PAGES) : gpu_platform().free_memory(device.index);
}

std::string why_no_gpu() { return gpu_platform().report().why_none; }

std::vector<LogicalDevice> logical_cpus(int count) {
  require(count >= 1 && count <= max_logical_cpus, "the number of replicas must be between 1 and {}, got {}",
          max_logical_cpus, count);
  const int share = std::max(1, available_cores() / count);
  std::vector<LogicalDevice> devices;
  for (int index = 0; index < count; ++index) devices.push_back({DeviceKind::cpu, index, share});
  return devices;
}

std::vector<LogicalDevice> logical_cpus_with_cores(std::span<const int> cores) {
  std::vector<LogicalDevice> devices = logical_cpus(static_cast<int>(cores.size()));
  for (std::size_t index = 0; index < cores.size(); ++index) {
    require(cores[index] >= 1, "{} needs at least one core, got {}", devices[index].name(), cores[index]);
    devices[index].cores = cores[index];
  }
  return devices;
}

std::vector<LogicalDevice> logical_gpus(int count) {
  require(count >= 1 && count <= max_logical_gpus, "the number of replicas must be between 1 and {}, got {}",
          max_logical_gpus, count);
  std::vector<LogicalDevice> devices;
  for (int index = 0; index < count; ++index) devices.push_back({DeviceKind::gpu, index});
  physical_gpu(devices.front());  // throws if there is no GPU
  return devices;
}

std::vector<LogicalDevice> default_devices(std::optional<int> count) {
  const int gpus = gpu_platform().count();
  return gpus > 0 ? logical_gpus(count.value_or(gpus)) : logical_cpus(count.value_or(2));
}

std::vector<LogicalDevice> parse_devices(std::span<const std::string> names) {
  std::vector<LogicalDevice> devices;
  for (const std::string& text : names) {
    const LogicalDevice device = parse_device(text);
    require_exists(device);
    require(std::find(devices.begin(), devices.end(), device) == devices.end(), "{} is named twice in [{}]",
            device.name(), fmt::join(names, ", "));
    devices.push_back(device);
  }
  require(!devices.empty(), "at least one device is needed");
  const auto cpus = std::count_if(devices.begin(), devices.end(), [](auto& d) { return d.kind == DeviceKind::cpu; });
  for (LogicalDevice& device : devices)
    if (device.kind == DeviceKind::cpu) device.cores = std::max(1, available_cores() / static_cast<int>(cpus));
  return devices;
}

}  // namespace lockstep
