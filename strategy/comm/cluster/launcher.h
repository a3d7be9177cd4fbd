#pragma once

#include <string>

namespace lockstep {

/// Whether mpirun or srun has started this process as one of several, as the variables that they set say.
bool launched_with_others();

/// The processes of this one's machine among those.
struct LocalProcesses {
  int rank = 0;   ///< this one's number
  int count = 1;  ///< how many there are
};
/// As the launcher says; one process where it says nothing.
LocalProcesses local_processes();
/// How many cores this process may take for its own: available_cores(), shared evenly with the others of its machine
/// unless the launcher has given each its own.
int cores_of_process();

/// The MPI that this program runs with, as it names itself: "Open MPI v4.1.4, package: ..."; empty in a build without.
std::string mpi_library();

}  // namespace lockstep
