#include "lockstep/strategy/comm/cluster/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include <unistd.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

/// The number that the first of these variables has that is set.
std::optional<int> number_of(std::initializer_list<const char*> variables) {
  for (const char* const variable : variables)
    if (const char* const value = std::getenv(variable)) return std::atoi(value);
  return std::nullopt;
}

}  // namespace

// Open MPI's mpirun; srun, whose PMIx or PMI plug-in MPI asks for the rest; MPICH's and Intel's launchers.

bool launched_with_others() {
  return number_of({"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}).value_or(1) > 1;
}

LocalProcesses local_processes() {
  const auto rank = number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"});
  // Slurm says how many a machine has as "4(x2)", of which the beginning is the number.
  const auto count = number_of({"OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE", "MPI_LOCALNRANKS"});
  if (!rank || !count || *rank < 0 || *rank >= *count) return {};
  return {.rank = *rank, .count = *count};
}

int cores_of_process() {
  const int cores = available_cores();
  const bool own = cores < sysconf(_SC_NPROCESSORS_ONLN);
  return own ? cores : std::max(1, cores / local_processes().count);
}

}  // namespace lockstep
