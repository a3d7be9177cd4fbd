#include "lockstep/strategy/comm/cluster/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include <unistd.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

/// The value of the first of these environment variables that is set.
std::optional<int> number_of(std::initializer_list<const char*> variables) {
  for (const char* const variable : variables)
    if (const char* const value = std::getenv(variable)) return std::atoi(value);
  return std::nullopt;
}

}  // namespace

// In this order, the variables of Open MPI's mpirun, of srun (MPI asks its PMIx or PMI plug-in for the rest), and of
// MPICH's and Intel's launchers.

bool launched_with_others() {
  return number_of({"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}).value_or(1) > 1;
}

LocalProcesses local_processes() {
  const auto rank = number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"});
  // Slurm lists the tasks of each machine as "4(x2)"; the number at the beginning is read.
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
