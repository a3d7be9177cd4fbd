#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/strategy/comm/nccl/nccl_host.h>

namespace lockstep::cli {

/// Version numbers encoded as in NVIDIA's libraries: CUDA 13000 is 13.0, cuDNN 91900 is 9.19, NCCL 22809 is 2.28.9.
struct LibraryVersion {
  int built = 0;   ///< of the headers at compile time
  int loaded = 0;  ///< of the library at run time
};

/// Versions of the GPU's software; all 0 in a build without CUDA.
struct GpuSoftware {
  LibraryVersion cuda{};    ///< of the runtime library
  int driver_supports = 0;  ///< highest version of CUDA that the driver can run; 0 without a driver
  LibraryVersion cudnn{};
  LibraryVersion nccl{};
};
/// Queries the libraries. Implemented in doctor_cuda.cpp or, in a build without CUDA, in doctor_no_cuda.cpp.
GpuSoftware gpu_software();

/// The MPI library and its launchers; strings as the programs print them.
struct MpiFacts {
  std::string linked{};  ///< version text of the library that this program is linked with; empty in a build without MPI
  std::string mpirun{};  ///< path of mpirun found in PATH; empty when there is none
  std::string mpirun_version{};  ///< output of `mpirun --version`
  bool may_run_as_root = true;   ///< false: the user is root, and Open MPI's mpirun would refuse to run
  bool in_slurm_job = false;     ///< whether this is a Slurm job, where srun starts the workers
  std::string srun_plugins{};    ///< output of `srun --mpi=list`; empty outside a job
};
/// Collects MpiFacts from PATH and the environment.
MpiFacts mpi_facts();

/// Facts about the machine that decide whether training on several of its devices will work.
struct MachineFacts {
  GpuReport gpus{};
  GpuSoftware software{};
  bool has_nvidia_device_files = false;                ///< /dev/nvidiactl exists: the driver's kernel module is loaded
  NcclHost host{};                                     ///< properties that affect NCCL
  std::optional<std::uint64_t> locked_memory_limit{};  ///< bytes; nullopt: unlimited
  int cores = 1;                                       ///< cores that this process may use
  double cpu_quota = 0;                                ///< CPU time limit of the control group, in cores; 0: no limit
  int replicas = 1;                                    ///< number of replicas that a strategy creates by default
  MpiFacts mpi{};                                      ///< for training in several processes
  std::map<std::string, std::string> environment{};    ///< CUDA's and NCCL's environment variables that are set
};
/// Collects the facts from this machine.
MachineFacts gather_facts();

}  // namespace lockstep::cli
