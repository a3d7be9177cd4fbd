#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/strategy/comm/nccl/nccl_host.h>

namespace lockstep::cli {

/// A version as NVIDIA's libraries count them: CUDA 13000 is 13.0, cuDNN 91900 is 9.19, NCCL 22809 is 2.28.9.
struct LibraryVersion {
  int built = 0;   ///< of the headers that this build was compiled with
  int loaded = 0;  ///< of what runs
};

/// Versions of the GPU's software; all 0 in a build without CUDA.
struct GpuSoftware {
  LibraryVersion cuda{};    ///< of the runtime library
  int driver_supports = 0;  ///< highest version of CUDA that the driver can run; 0 without a driver
  LibraryVersion cudnn{};
  LibraryVersion nccl{};
};
/// Asks the libraries. Implemented in doctor_cuda.cpp or, in a build without CUDA, in doctor_no_cuda.cpp.
GpuSoftware gpu_software();

/// What starts processes that train together; texts as the programs write them.
struct MpiFacts {
  std::string linked{};          ///< what this program is linked with; empty in a build without MPI
  std::string mpirun{};          ///< its place in PATH; empty when there is none
  std::string mpirun_version{};  ///< `mpirun --version`
  bool may_run_as_root = true;   ///< root is not the user, or Open MPI's variables allow it
  bool in_slurm_job = false;     ///< srun would start processes
  std::string srun_plugins{};    ///< `srun --mpi=list`; empty outside of a job
};
/// Reads them from PATH and the environment.
MpiFacts mpi_facts();

/// What decides whether training on several devices of this machine will work.
struct MachineFacts {
  GpuReport gpus{};
  GpuSoftware software{};
  bool has_nvidia_device_files = false;                ///< /dev/nvidiactl: the kernel's part of a driver
  NcclHost host{};                                     ///< what NCCL connects several GPUs with
  std::optional<std::uint64_t> locked_memory_limit{};  ///< bytes that may be locked; nothing when unlimited
  int cores = 1;                                       ///< that this process may use
  double cpu_quota = 0;                                ///< cores' worth of time of the control group; 0: no limit
  int replicas = 1;                                    ///< that a strategy makes when nobody says
  MpiFacts mpi{};                                      ///< of training in several processes
  std::map<std::string, std::string> environment{};    ///< variables of CUDA and NCCL that are set
};
/// Reads them from the machine.
MachineFacts gather_facts();

}  // namespace lockstep::cli
