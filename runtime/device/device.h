#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The kinds of devices; physical_devices lists those that a build can use.
enum class DeviceKind { cpu, gpu };

/// "CPU" or "GPU".
std::string_view name(DeviceKind kind);

/// A physical device.
struct Device {
  ///@{
  /// Together they name the device, as in "GPU:1".
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  ///@}
  std::string model{};               ///< the maker's name
  std::size_t memory_total = 0;      ///< bytes
  int cores = 0;                     ///< hardware threads of a CPU, multiprocessors of a GPU
  std::string compute_capability{};  ///< "9.0"; empty for a CPU
  std::vector<int> peers{};          ///< indices of the GPUs whose memory this one can address
};

/// A replica's device: a whole GPU, or a share of the CPU's cores. A plain value; equal when kind and index are.
struct LogicalDevice {
  ///@{
  /// Together they name the device, as in "CPU:0".
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  ///@}
  int cores = 1;  ///< host threads that this device's ops may use
  /// Limit of its tensors' memory in bytes, cached blocks included; 0: none. The last limit that was given for a
  /// device holds.
  std::size_t memory_limit = 0;

  /// "CPU:0".
  std::string name() const;
  /// Whether they name the same device, whatever its cores and limit.
  friend bool operator==(const LogicalDevice& a, const LogicalDevice& b) {
    return a.kind == b.kind && a.index == b.index;
  }
};

}  // namespace lockstep
