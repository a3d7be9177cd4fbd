#include "doctor_findings.h"

#include <algorithm>
#include <regex>
#include <utility>

#include <fmt/ranges.h>

namespace lockstep::cli {
namespace {

using Level = Finding::Level;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t locked_memory_wanted = 64 * mib;

/// 13000 becomes "13.0".
std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }
/// 91900 becomes "9.19".
std::string cudnn_version(int version) { return fmt::format("{}.{}", version / 10000, version % 10000 / 100); }
/// 22809 becomes "2.28.9".
std::string nccl_version(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

bool several_gpus(const MachineFacts& facts) { return facts.gpus.devices.size() > 1; }

Finding gpus(const MachineFacts& facts) {
  const auto count = facts.gpus.devices.size();
  if (count > 0) {
    std::vector<std::string> models;
    for (const Device& gpu : facts.gpus.devices) models.push_back(gpu.model);
    return {Level::fine, "GPUs", fmt::format("{}: {}", count, fmt::join(models, ", ")), ""};
  }
  if (facts.software.cuda.built == 0)
    return {Level::fine, "GPUs", fmt::format("none: {}; replicas run on logical CPUs", facts.gpus.why_none), ""};
  if (facts.has_nvidia_device_files)
    return {Level::broken, "GPUs",
            fmt::format("the kernel has a driver for GPUs, but none can be used: {}", facts.gpus.why_none),
            facts.host.in_container
                ? "start the container with the GPUs and the driver's libraries: docker run --gpus all"
                : "install the driver's library (libcuda.so.1) of the same version as its kernel module"};
  return {Level::fine, "GPUs", fmt::format("none: {}; replicas run on logical CPUs", facts.gpus.why_none), ""};
}

Finding driver(const MachineFacts& facts) {
  const GpuSoftware& software = facts.software;
  const std::string text = fmt::format("runs CUDA up to {}, this program was built with {}",
                                       cuda_version(software.driver_supports), cuda_version(software.cuda.built));
  // CUDA runs on any driver of the same or a later major version.
  if (software.driver_supports / 1000 >= software.cuda.built / 1000) return {Level::fine, "driver", text, ""};
  return {Level::broken, "driver", text,
          fmt::format("install a driver for CUDA {} or newer", cuda_version(software.cuda.built / 1000 * 1000))};
}

/// The loaded library must have the major version of the headers and must not be older than they are.
Finding library(const std::string& subject, const LibraryVersion& version, std::string (*text_of)(int)) {
  const std::string text = fmt::format("{}, built with {}", version.loaded == 0 ? "not found" : text_of(version.loaded),
                                       text_of(version.built));
  const int major = subject == "CUDA" ? 1000 : 10000;
  if (version.loaded / major == version.built / major && version.loaded >= version.built)
    return {Level::fine, subject, text, ""};
  return {Level::broken, subject, text,
          fmt::format("put the folder of {} {} or newer, of the same major version, first in LD_LIBRARY_PATH", subject,
                      text_of(version.built))};
}

Finding peer_access(const MachineFacts& facts) {
  std::vector<std::string> apart;
  for (const Device& gpu : facts.gpus.devices)
    for (const Device& other : facts.gpus.devices)
      if (gpu.index < other.index && std::ranges::find(gpu.peers, other.index) == gpu.peers.end())
        apart.push_back(fmt::format("GPU:{} and GPU:{}", gpu.index, other.index));
  if (apart.empty()) return {Level::fine, "peer access", "every GPU can access every other GPU's memory", ""};
  return {Level::slow, "peer access", fmt::format("none between {}", fmt::join(apart, "; ")),
          "their copies go through the host's memory: use GPUs of one PCIe switch or with NVLink, if there are any"};
}

/// Adds a finding for each way in which NCCL can connect the GPUs: fine, or an obstacle.
void add_nccl_host(const MachineFacts& facts, std::vector<Finding>& findings) {
  const std::uint64_t free = facts.host.shared_memory_free.value_or(0);
  findings.push_back({Level::fine, "IOMMU", "off", ""});
  findings.push_back({Level::fine, "/dev/shm", fmt::format("{} MiB free", free / mib), ""});
  for (const NcclObstacle& obstacle : find_obstacles(facts.host, facts.gpus.devices.size())) {
    std::erase_if(findings, [&](const Finding& finding) { return finding.subject == obstacle.subject; });
    findings.push_back(
        {obstacle.fails ? Level::broken : Level::slow, obstacle.subject, obstacle.text, obstacle.remedy});
  }
}

Finding locked_memory(const MachineFacts& facts) {
  if (!facts.locked_memory_limit) return {Level::fine, "locked memory", "unlimited", ""};
  const std::string text = fmt::format("at most {} KiB", *facts.locked_memory_limit / 1024);
  if (*facts.locked_memory_limit >= locked_memory_wanted) return {Level::fine, "locked memory", text, ""};
  return {Level::slow, "locked memory", text,
          facts.host.in_container ? "start the container with --ulimit memlock=-1" : "ulimit -l unlimited"};
}

Finding cores(const MachineFacts& facts) {
  const double usable = facts.cpu_quota > 0 ? std::min<double>(facts.cores, facts.cpu_quota) : facts.cores;
  const std::string text = fmt::format("{:g} for {} replicas", usable, facts.replicas);
  if (usable >= facts.replicas) return {Level::fine, "cores", text, ""};
  return {Level::slow, "cores", text,
          facts.host.in_container
              ? "give the container a core for each replica (--cpus), or use fewer replicas"
              : "use fewer replicas, or allow more cores with taskset; each replica has its own host thread"};
}

/// An MPI implementation, recognized from the version text of its library or its mpirun.
struct MpiKind {
  std::string name{};  ///< empty: unknown implementation
  int major = 0;

  explicit MpiKind(const std::string& text) {
    for (const auto& [word, its_name] :
         {std::pair("Open MPI", "Open MPI"), std::pair("OpenRTE", "Open MPI"), std::pair("Intel(R) MPI", "Intel MPI"),
          std::pair("MPICH", "MPICH"), std::pair("HYDRA", "MPICH")})
      if (name.empty() && text.find(word) != std::string::npos) name = its_name;
    std::smatch number;
    if (std::regex_search(text, number, std::regex(R"((\d{1,4})\.\d+)"))) major = std::stoi(number[1]);
  }
  std::string text() const { return name.empty() ? "an unknown MPI" : fmt::format("{} {}", name, major); }
};

/// Inside a Slurm job srun starts the processes, and mpirun is not needed.
Finding srun(const MpiFacts& facts) {
  if (facts.srun_plugins.find("pmix") != std::string::npos)
    return {Level::fine, "srun", "has a PMIx plugin: srun --mpi=pmix starts processes that train together", ""};
  return {Level::broken, "srun", "has no PMIx plugin, by which processes of Open MPI find each other",
          facts.mpirun.empty() ? "install Slurm's PMIx plugin, and libpmix-dev, which it loads"
                               : "start the processes with mpirun in the job, or install Slurm's PMIx plugin"};
}

Finding mpirun(const MpiFacts& facts) {
  if (facts.mpirun.empty())
    return {Level::slow, "mpirun", "not found: training runs in one process only",
            "install it (Debian: openmpi-bin), or put its folder in PATH"};
  const MpiKind library(facts.linked);
  const MpiKind launcher(facts.mpirun_version);
  const std::string text =
      fmt::format("{} is {}; this program is linked with {}", facts.mpirun, launcher.text(), library.text());
  if (launcher.name.empty() || library.name.empty())
    return {Level::slow, "mpirun", text + ": they may be of different implementations",
            "if each process trains alone, put the folder of the library's mpirun first in PATH"};
  if (launcher.name != library.name)
    return {Level::broken, "mpirun", text + ": it would start independent runs of one process each",
            fmt::format("put the folder of {}'s mpirun first in PATH", library.name)};
  if (launcher.major != library.major)
    return {Level::slow, "mpirun", text + ": they may be incompatible",
            fmt::format("put the folder of {}'s mpirun first in PATH", library.text())};
  if (library.name == "Open MPI" && !facts.may_run_as_root)
    return {Level::slow, "mpirun", text + ": it refuses to run as root",
            "mpirun --allow-run-as-root, or set OMPI_ALLOW_RUN_AS_ROOT and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM to 1"};
  return {Level::fine, "mpirun", text, ""};
}

/// Findings about the launchers of several processes.
std::vector<Finding> launchers(const MpiFacts& facts) {
  if (facts.linked.empty())
    return {{Level::fine, "MPI", "not in this build, which trains in one process; LOCKSTEP_MPI=ON builds it in", ""}};
  std::vector<Finding> findings;
  const bool starts_by_srun = facts.in_slurm_job && MpiKind(facts.linked).name == "Open MPI";
  if (starts_by_srun) findings.push_back(srun(facts));
  if (!starts_by_srun || !facts.mpirun.empty()) findings.push_back(mpirun(facts));
  return findings;
}

/// Findings about environment variables that make NCCL hang or slow down.
std::vector<Finding> environment(const MachineFacts& facts) {
  const auto value = [&](const char* variable) {
    const auto found = facts.environment.find(variable);
    return found == facts.environment.end() ? std::string() : found->second;
  };
  std::vector<Finding> findings;
  const auto complain = [&](Level level, const char* variable, const char* text) {
    findings.push_back(
        {level, variable, fmt::format("is {}: {}", value(variable), text), fmt::format("unset {}", variable)});
  };
  if (value("CUDA_LAUNCH_BLOCKING") == "1")
    complain(Level::broken, "CUDA_LAUNCH_BLOCKING", "replicas of one process wait for each other forever");
  if (value("NCCL_P2P_DISABLE") == "1")
    complain(Level::slow, "NCCL_P2P_DISABLE", "GPUs exchange data through the host's memory");
  if (value("NCCL_SHM_DISABLE") == "1")
    complain(Level::slow, "NCCL_SHM_DISABLE", "GPUs without a direct link exchange data through the network");
  const auto visible = facts.environment.find("CUDA_VISIBLE_DEVICES");
  if (visible != facts.environment.end() && facts.gpus.devices.empty() && facts.has_nvidia_device_files)
    complain(Level::broken, "CUDA_VISIBLE_DEVICES", "it may hide all GPUs");
  return findings;
}

}  // namespace

std::string_view name(Level level) {
  constexpr std::string_view names[] = {"ok", "slow", "BROKEN"};
  return names[static_cast<int>(level)];
}

std::vector<Finding> judge(const MachineFacts& facts) {
  std::vector<Finding> findings{gpus(facts)};
  if (!facts.gpus.devices.empty()) {
    findings.push_back(driver(facts));
    findings.push_back(library("CUDA", facts.software.cuda, cuda_version));
    findings.push_back(library("cuDNN", facts.software.cudnn, cudnn_version));
    findings.push_back(library("NCCL", facts.software.nccl, nccl_version));
  }
  if (several_gpus(facts)) {
    findings.push_back(peer_access(facts));
    add_nccl_host(facts, findings);
    findings.push_back(locked_memory(facts));
  }
  findings.push_back(cores(facts));
  std::ranges::move(launchers(facts.mpi), std::back_inserter(findings));
  std::ranges::move(environment(facts), std::back_inserter(findings));
  return findings;
}

}  // namespace lockstep::cli
