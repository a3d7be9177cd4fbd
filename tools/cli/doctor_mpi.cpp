#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <unistd.h>

#include <lockstep/strategy/comm/cluster/launcher.h>

#include "doctor_facts.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Searches PATH for a program; empty when it is not there.
std::string place_of(const std::string& program) {
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path place = fs::path(folder.empty() ? "." : folder) / program;
    std::error_code error;
    if (fs::is_regular_file(place, error) && access(place.c_str(), X_OK) == 0) return place.string();
  }
  return {};
}

/// Standard output and error of a shell command, run with an empty standard input.
std::string output_of(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1 < /dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), read);
  pclose(pipe);
  return output;
}

}  // namespace

MpiFacts mpi_facts() {
  MpiFacts facts{.linked = mpi_library(), .mpirun = place_of("mpirun")};
  if (!facts.mpirun.empty()) facts.mpirun_version = output_of("mpirun --version");
  facts.may_run_as_root = geteuid() != 0 || (variable("OMPI_ALLOW_RUN_AS_ROOT") == "1" &&
                                             variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1");
  facts.in_slurm_job = !variable("SLURM_JOB_ID").empty() && !place_of("srun").empty();
  if (facts.in_slurm_job) facts.srun_plugins = output_of("srun --mpi=list");
  return facts;
}

}  // namespace lockstep::cli
