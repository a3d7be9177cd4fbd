#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Kind of a device.
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
  std::string model{};               ///< the manufacturer's name of the model
  std::size_t memory_total = 0;      ///< bytes
  int cores = 0;                     ///< CPU: hardware threads that this process may use; GPU: multiprocessors
  std::string compute_capability{};  ///< "9.0"; empty for a CPU
  std::vector<int> peers{};          ///< indices of the GPUs whose memory this one can address
};

/// A replica's device: a GPU, a share of a GPU, or a share of the CPU's cores. A plain value.
struct LogicalDevice {
  ///@{
  /// Together they name the device, as in "CPU:0".
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  ///@}
  int cores = 1;  ///< host threads that this device's ops may use
  /// Limit, in bytes, of the memory in use; an allocation beyond it throws OutOfMemory. If memory in use and cached
  /// memory together would exceed the limit, cached memory is released first. The limit given last for a device
  /// applies; 0 leaves it unchanged. By default there is no limit.
  std::size_t memory_limit = 0;

  /// The device's name, e.g. "CPU:0".
  std::string name() const;
  /// Whether both name the same device: cores and limits are not compared.
  friend bool operator==(const LogicalDevice& a, const LogicalDevice& b) {
    return a.kind == b.kind && a.index == b.index;
  }
};

}  // namespace lockstep
