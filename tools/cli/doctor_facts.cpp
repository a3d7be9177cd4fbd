#include "doctor_facts.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/registry.h>

namespace lockstep::cli {
namespace {

std::optional<std::uint64_t> locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

/// The CPU limit in cores, from cpu.max: "max 100000" or "200000 100000", i.e. quota and period in microseconds.
double cpu_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period && period > 0 ? quota / period : 0;
}

std::map<std::string, std::string> gpu_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if ((text.starts_with("CUDA_") || text.starts_with("NCCL_")) && equals != std::string_view::npos)
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

}  // namespace

MachineFacts gather_facts() {
  MachineFacts facts{.gpus = gpu_platform().report(),
                     .software = gpu_software(),
                     .has_nvidia_device_files = std::filesystem::exists("/dev/nvidiactl"),
                     .host = examine_nccl_host(),
                     .locked_memory_limit = locked_memory_limit(),
                     .cores = available_cores(),
                     .cpu_quota = cpu_quota(),
                     .mpi = mpi_facts(),
                     .environment = gpu_environment()};
  facts.replicas = static_cast<int>(default_devices().size());
  return facts;
}

}  // namespace lockstep::cli
