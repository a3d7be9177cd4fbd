#pragma once

#include <string>

namespace lockstep {

/// Whether a launcher (mpirun or srun) started this process as one of several. Reads the launcher's environment
/// variables.
bool launched_with_others();

/// The processes that the launcher started on this machine.
struct LocalProcesses {
  int rank = 0;   ///< this process's number among these processes, from 0
  int count = 1;  ///< number of processes
};
/// Reads the launcher's environment variables. Returns one process if they are not set or not valid.
LocalProcesses local_processes();
/// Number of cores for this process. Returns available_cores() if this is less than the machine's number of online
/// processors, e.g. because the launcher has bound the process to some cores. Otherwise returns available_cores()
/// divided by the number of local processes, but at least 1.
int cores_of_process();

/// The version text of this program's MPI library, e.g. "Open MPI v4.1.4, package: ..."; empty in a build without MPI.
std::string mpi_library();

}  // namespace lockstep
