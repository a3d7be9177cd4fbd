#pragma once

#include <string>

namespace lockstep {

/// Whether mpirun or srun started this process as one of several, according to the environment variables that they set.
bool launched_with_others();

/// The launched processes on this process's machine.
struct LocalProcesses {
  int rank = 0;   ///< this process's number among them, from 0
  int count = 1;  ///< number of processes
};
/// Reads the launcher's environment variables. Returns one process if they are not set or not valid.
LocalProcesses local_processes();
/// Number of cores for this process: available_cores() if the launcher has bound this process to a part of the
/// machine's cores; otherwise an equal share for each process on this machine, at least 1.
int cores_of_process();

/// The name that this program's MPI reports, e.g. "Open MPI v4.1.4, package: ..."; empty in a build without MPI.
std::string mpi_library();

}  // namespace lockstep
