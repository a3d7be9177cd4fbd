#include "lockstep/strategy/comm/cluster/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>

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

/// The number of tasks of machine `machine` in Slurm's list, where "4(x2),3" means 4, 4 and 3. Empty if the list is not
/// valid or does not have the machine.
std::optional<int> tasks_of_machine(const char* list, int machine) {
  for (char* end = nullptr;; list = end + 1) {
    const long tasks = std::strtol(list, &end, 10);
    if (end == list) return std::nullopt;
    long machines = 1;
    if (std::string_view(end).starts_with("(x")) {
      machines = std::strtol(end + 2, &end, 10);
      if (*end++ != ')') return std::nullopt;
    }
    if (machine < machines) return static_cast<int>(tasks);
    machine -= static_cast<int>(machines);
    if (*end != ',') return std::nullopt;
  }
}

}  // namespace

// The functions below read the variables of Open MPI's mpirun, of MPICH's and Intel's launchers, and of srun. (MPI gets
// everything else from srun's PMIx or PMI plug-in.)

bool launched_with_others() {
  return number_of({"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}).value_or(1) > 1;
}

LocalProcesses local_processes() {
  auto rank = number_of({"OMPI_COMM_WORLD_LOCAL_RANK"});
  auto count = number_of({"OMPI_COMM_WORLD_LOCAL_SIZE"});
  if (!rank || !count) {
    rank = number_of({"MPI_LOCALRANKID"});
    count = number_of({"MPI_LOCALNRANKS"});
  }
  const char* const tasks = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  if ((!rank || !count) && tasks) {  // last, because other launchers may run inside a Slurm step
    rank = number_of({"SLURM_LOCALID"});
    count = tasks_of_machine(tasks, number_of({"SLURM_NODEID"}).value_or(0));
  }
  if (!rank || !count || *rank < 0 || *rank >= *count) return {};
  return {.rank = *rank, .count = *count};
}

int cores_of_process() {
  const int cores = available_cores();
  const bool own = cores < sysconf(_SC_NPROCESSORS_ONLN);
  return own ? cores : std::max(1, cores / local_processes().count);
}

}  // namespace lockstep
