#include "lockstep/strategy/comm/nccl/nccl_host.h"

#include <array>
#include <cstdlib>
#include <fstream>

#include <fmt/core.h>
#include <sys/statvfs.h>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
/// The bytes of /dev/shm that NCCL needs for a pair of GPUs without a direct link, with room to spare.
constexpr std::uint64_t shared_memory_per_gpu = 64 * mib;

std::optional<std::uint64_t> free_bytes(const char* folder) {
  struct statvfs status {};
  if (statvfs(folder, &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

bool in_container() {
  return fs::exists("/.dockerenv") || fs::exists("/run/.containerenv") || std::getenv("KUBERNETES_SERVICE_HOST");
}

bool has_iommu() {
  std::error_code error;
  const fs::directory_iterator units("/sys/class/iommu", error);
  return !error && units != fs::directory_iterator();
}

/// The control register of access control services (ACS) in a device's PCIe configuration; 0 if the device does not
/// have ACS.
unsigned access_control(const fs::path& device) {
  constexpr std::size_t size = 4096;
  constexpr std::size_t first_extended = 0x100;
  constexpr unsigned acs = 0x0d;
  std::array<unsigned char, size> bytes{};
  std::ifstream file(device / "config", std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  const auto word = [&](std::size_t at) { return bytes[at] | unsigned{bytes[at + 1]} << 8; };
  // Each capability holds the address of the next one. `seen` limits the loop if damaged addresses form a cycle.
  std::size_t at = first_extended;
  for (std::size_t seen = 0; at >= first_extended && at + 8 <= size && seen < size / 8; ++seen) {
    if (word(at) == acs) return word(at + 6);
    at = word(at + 2) >> 4;
  }
  return 0;
}

}  // namespace

bool redirects_copies(const fs::path& devices) {
  constexpr unsigned redirects = 0b1100;  // bits for requests and completions
  std::error_code error;
  for (const fs::directory_entry& device : fs::directory_iterator(devices, error)) {
    std::string kind;
    std::ifstream(device.path() / "class") >> kind;
    if (kind.starts_with("0x0604") && (access_control(device.path()) & redirects) != 0) return true;
  }
  return false;
}

NcclHost examine_nccl_host() {
  return {.in_container = in_container(),
          .has_iommu = has_iommu(),
          .has_acs = redirects_copies("/sys/bus/pci/devices"),
          .shared_memory_free = free_bytes("/dev/shm")};
}

std::vector<NcclObstacle> find_obstacles(const NcclHost& host, std::size_t gpus) {
  std::vector<NcclObstacle> found;
  if (host.has_iommu)
    found.push_back({"IOMMU", "on: it may redirect copies between GPUs, which hangs NCCL's first call",
                     "if training hangs, switch it off (kernel option iommu=off)"});
  if (host.has_acs)
    found.push_back({"PCIe ACS", "on: bridges redirect copies between GPUs, which hangs NCCL or slows it down",
                     "switch it off in the BIOS, or on each bridge: setpci -s BRIDGE ECAP_ACS+6.w=0000"});
  const std::uint64_t wanted = shared_memory_per_gpu * gpus;
  if (!host.shared_memory_free) {
    found.push_back({"/dev/shm", "there is none", "mount a tmpfs there: NCCL exchanges data through it", true});
  } else if (*host.shared_memory_free < wanted) {
    found.push_back({"/dev/shm", fmt::format("{} MiB free", *host.shared_memory_free / mib),
                     fmt::format("NCCL may need {} MiB: {}", wanted / mib,
                                 host.in_container ? "start the container with --shm-size=1g or --ipc=host"
                                                   : "mount -o remount,size=1G /dev/shm"),
                     true});
  }
  return found;
}

}  // namespace lockstep
