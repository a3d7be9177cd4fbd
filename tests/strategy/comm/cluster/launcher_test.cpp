#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/comm/cluster/launcher.h>

namespace lockstep {
namespace {

/// Simulates a process started by Open MPI, by setting its environment variables.
class Launched : public testing::Test {
 protected:
  ~Launched() override {
    for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_LOCALID",
                                 "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"})
      ::unsetenv(variable);
  }
  /// By Slurm, with these numbers of tasks on the machines.
  static int tasks_of_slurm(const char* tasks, const char* machine) {
    ::setenv("SLURM_LOCALID", "0", 1);
    ::setenv("SLURM_STEP_TASKS_PER_NODE", tasks, 1);
    ::setenv("SLURM_NODEID", machine, 1);
    return local_processes().count;
  }
  static void among(const char* rank, const char* count) {
    ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", rank, 1);
    ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", count, 1);
  }
};

TEST_F(Launched, KnowsThoseOfItsMachine) {
  EXPECT_EQ(local_processes().count, 1);
  among("2", "4");
  EXPECT_EQ(local_processes().rank, 2);
  EXPECT_EQ(local_processes().count, 4);
  among("4", "4");  // 4 is not a rank of 4 processes
  EXPECT_EQ(local_processes().count, 1);
}

TEST_F(Launched, ReadsItsMachinesTasksFromSlurmsList) {
  EXPECT_EQ(tasks_of_slurm("4", "0"), 4);
  EXPECT_EQ(tasks_of_slurm("4(x2),3", "1"), 4);
  EXPECT_EQ(tasks_of_slurm("4(x2),3", "2"), 3);
  EXPECT_EQ(tasks_of_slurm("2,5(x3)", "3"), 5);
  for (const char* invalid : {"", "x", "4(x2", "4;3"}) EXPECT_EQ(tasks_of_slurm(invalid, "2"), 1) << invalid;
}

TEST_F(Launched, ByMpichWithinAStepOfSlurmIsAsMpichSays) {
  EXPECT_EQ(tasks_of_slurm("1", "0"), 1);
  ::setenv("MPI_LOCALRANKID", "2", 1);
  ::setenv("MPI_LOCALNRANKS", "4", 1);
  EXPECT_EQ(local_processes().rank, 2);
  EXPECT_EQ(local_processes().count, 4);
}

TEST_F(Launched, SharesTheMachinesCores) {
  if (available_cores() < sysconf(_SC_NPROCESSORS_ONLN)) GTEST_SKIP() << "this process has been given cores of its own";
  EXPECT_EQ(cores_of_process(), available_cores());
  among("1", "2");
  EXPECT_EQ(cores_of_process(), std::max(1, available_cores() / 2));
  among("0", "100000");
  EXPECT_EQ(cores_of_process(), 1);
}

TEST_F(Launched, KeepsCoresThatItIsGivenAlone) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 3)
    GTEST_SKIP() << "cores that are taken away and divided are as many as those that are left";
  cpu_set_t own = before;
  for (int core = 0; CPU_COUNT(&own) == CPU_COUNT(&before); ++core) CPU_CLR(core, &own);
  ASSERT_EQ(sched_setaffinity(0, sizeof own, &own), 0);
  among("0", "2");
  EXPECT_EQ(cores_of_process(), CPU_COUNT(&own));
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace lockstep
