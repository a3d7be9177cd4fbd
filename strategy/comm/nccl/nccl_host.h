#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// What a machine gives NCCL to connect several GPUs with.
struct NcclHost {
  bool in_container = false;                          ///< whose limits are often too low for NCCL
  bool has_iommu = false;                             ///< active: may redirect copies between GPUs
  bool has_acs = false;                               ///< PCIe bridges redirect copies between GPUs
  std::optional<std::uint64_t> shared_memory_free{};  ///< bytes in /dev/shm; nothing when there is none
};

/// Reads it from this machine. Only root can see ACS.
NcclHost examine_nccl_host();

/// Whether a bridge of `devices`, a folder as /sys/bus/pci/devices, has PCIe's access control redirect copies between
/// the devices behind it.
bool redirects_copies(const std::filesystem::path& devices);

/// A property of the machine that makes NCCL fail, hang or run slowly between several GPUs.
struct NcclObstacle {
  std::string subject{};  ///< "/dev/shm"
  std::string text{};     ///< what was found
  std::string remedy{};   ///< what to do
  bool fails = false;     ///< NCCL's first call fails, rather than perhaps hangs
};
/// Those for `gpus` GPUs of one machine.
std::vector<NcclObstacle> find_obstacles(const NcclHost& host, std::size_t gpus);

}  // namespace lockstep
