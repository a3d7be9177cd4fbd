#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Properties of a machine that affect NCCL between several GPUs.
struct NcclHost {
  bool in_container = false;                          ///< in a container, whose limits are often too low for NCCL
  bool has_iommu = false;                             ///< the IOMMU is active: it may redirect copies between GPUs
  bool has_acs = false;                               ///< PCIe bridges redirect copies between GPUs (ACS)
  std::optional<std::uint64_t> shared_memory_free{};  ///< free bytes in /dev/shm; nothing if it does not exist
};

/// Examines this machine. Only root can detect ACS.
NcclHost examine_nccl_host();

/// Whether PCIe access control of a bridge in `devices`, a folder like /sys/bus/pci/devices, redirects copies between
/// the devices behind the bridge.
bool redirects_copies(const std::filesystem::path& devices);

/// A property of the machine that may make NCCL fail, hang or run slowly between several GPUs.
struct NcclObstacle {
  std::string subject{};  ///< e.g. "/dev/shm"
  std::string text{};     ///< description of the obstacle
  std::string remedy{};   ///< how to remove the obstacle
  bool fails = false;     ///< NCCL's first call fails; false: it may hang or be slow
};
/// The obstacles for `gpus` GPUs of one machine.
std::vector<NcclObstacle> find_obstacles(const NcclHost& host, std::size_t gpus);

}  // namespace lockstep
