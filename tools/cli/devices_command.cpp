#include "devices_command.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/device/registry.h>

#include "wrapped_text.h"

namespace lockstep::cli {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

nlohmann::ordered_json as_json(const Device& device) {
  nlohmann::ordered_json result{{"name", fmt::format("{}:{}", name(device.kind), device.index)},
                                {"model", device.model},
                                {"memory_total", device.memory_total},
                                {"memory_free", free_memory(device)},
                                {"cores", device.cores}};
  if (device.kind == DeviceKind::gpu) {
    result["compute_capability"] = device.compute_capability;
    result["peers"] = device.peers;
  }
  return result;
}

void print_json() {
  nlohmann::ordered_json result{{"physical", nlohmann::json::array()}, {"logical", nlohmann::json::array()}};
  for (const Device& device : physical_devices()) result["physical"].push_back(as_json(device));
  for (const LogicalDevice& device : default_devices())
    result["logical"].push_back({{"name", device.name()}, {"cores", device.cores}});
  result["why_no_gpu"] = why_no_gpu();
  fmt::print("{}\n", result.dump());
}

/// Prints a matrix of GPUs: whether the row's GPU can address the memory of the column's.
void print_links(const std::vector<Device>& devices) {
  std::vector<Device> gpus;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(gpus),
               [](const Device& device) { return device.kind == DeviceKind::gpu; });
  if (gpus.size() < 2) return;
  fmt::print("\nPeer access (row reaches column):\n      ");
  for (const Device& gpu : gpus) fmt::print(" GPU:{:<2}", gpu.index);
  for (const Device& gpu : gpus) {
    fmt::print("\nGPU:{:<2}", gpu.index);
    for (const Device& other : gpus) {
      const bool reaches = std::find(gpu.peers.begin(), gpu.peers.end(), other.index) != gpu.peers.end();
      fmt::print(" {:^6}", gpu.index == other.index ? "-" : reaches ? "yes" : "no");
    }
  }
  fmt::print("\n");
}

/// E.g. " (2 cores)".
std::string cores_text(int cores) { return fmt::format(" ({} core{})", cores, cores == 1 ? "" : "s"); }

void print_table() {
  const std::vector<Device> devices = physical_devices();
  const auto gib_text = [](std::size_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gib); };
  fmt::print("{:<6} {:<36} {:>9} {:>9} {:>5} {:>10}\n", "Device", "Model", "Memory", "Free", "Cores", "Capability");
  for (const Device& device : devices)
    fmt::print("{:<6} {:<36.36} {:>9} {:>9} {:>5} {:>10}\n", fmt::format("{}:{}", name(device.kind), device.index),
               device.model, gib_text(device.memory_total), gib_text(free_memory(device)), device.cores,
               device.compute_capability.empty() ? "-" : device.compute_capability);
  print_links(devices);
  const std::string why = why_no_gpu();
  if (!why.empty()) fmt::print("\n{}\n", wrapped("No GPU: " + why, 2));
  fmt::print("Default replicas:");
  for (const LogicalDevice& device : default_devices())
    fmt::print(" {}{}", device.name(), device.kind == DeviceKind::gpu ? "" : cores_text(device.cores));
  fmt::print("\n");
}

}  // namespace

int run(const DevicesOptions& options) {
  options.json ? print_json() : print_table();
  return 0;
}

}  // namespace lockstep::cli
