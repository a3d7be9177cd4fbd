#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>
#include <tools/cli/doctor_findings.h>
#include <unistd.h>

// The doctor's findings about MPI launchers, which here are scripts in a folder of their own.

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

/// Sets an environment variable during its lifetime.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_{};
};

constexpr const char* open_mpi_4 =
    "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";

class DoctorOfMpi : public testing::Test {
 protected:
  /// Makes a program with this name and output the only one in PATH.
  void install(const std::string& name, const std::string& output) const {
    const std::string place = programs_ / name;
    test::write_text(place, "#!/bin/sh\necho '" + output + "'\n");
    std::filesystem::permissions(place, std::filesystem::perms::owner_all);
  }
  /// Findings for a program linked with this library, for a user who may start mpirun.
  static std::vector<Finding> findings(const std::string& library = open_mpi_4) {
    MachineFacts facts{.cores = 2, .mpi = mpi_facts()};
    facts.gpus.why_none = "no driver";
    facts.mpi.linked = library;
    std::vector<Finding> all = judge(facts);
    std::erase_if(all, [](const Finding& one) { return one.subject == "GPUs" || one.subject == "cores"; });
    return all;
  }
  static auto finding(Finding::Level level, const std::string& subject, const std::string& text,
                      const std::string& remedy) {
    return AllOf(Field(&Finding::level, level), Field(&Finding::subject, subject),
                 Field(&Finding::text, HasSubstr(text)),
                 Field(&Finding::remedy, remedy.empty() ? testing::Matcher<std::string>(IsEmpty())
                                                        : testing::Matcher<std::string>(HasSubstr(remedy))));
  }
  static constexpr auto fine = Finding::Level::fine;
  static constexpr auto slow = Finding::Level::slow;
  static constexpr auto broken = Finding::Level::broken;

  const test::TemporaryFolder programs_;
  const Variable path_{"PATH", programs_.path().string()};
  const Variable root_{"OMPI_ALLOW_RUN_AS_ROOT", "1"};
  const Variable root_confirm_{"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"};
};

TEST_F(DoctorOfMpi, FindsNothingWhereMpirunIsTheLibrarys) {
  install("mpirun", "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/");
  EXPECT_THAT(findings(),
              ElementsAre(finding(fine, "mpirun", "is Open MPI 4; this program is linked with Open MPI 4", "")));
}

TEST_F(DoctorOfMpi, SaysThatABuildHasNoMpi) {
  EXPECT_THAT(findings(""), ElementsAre(finding(fine, "MPI", "trains in one process; LOCKSTEP_MPI=ON", "")));
}

TEST_F(DoctorOfMpi, KnowsTheLibraryOfThisBuild) { EXPECT_EQ(mpi_facts().linked.empty(), !LOCKSTEP_HAVE_MPI); }

TEST_F(DoctorOfMpi, FindsThatMpirunIsMissing) {
  EXPECT_THAT(findings(), ElementsAre(finding(slow, "mpirun", "not found", "openmpi-bin")));
  test::write_text(programs_ / "mpirun", "not a program");
  EXPECT_THAT(findings(), ElementsAre(finding(slow, "mpirun", "not found", "in PATH")));
}

TEST_F(DoctorOfMpi, FindsTheMpirunOfAnotherMpi) {
  install("mpirun", "HYDRA build details:\n    Version:                                 4.0.2");
  EXPECT_THAT(findings(), ElementsAre(finding(broken, "mpirun",
                                              "is MPICH 4; this program is linked with Open MPI 4: it would start "
                                              "independent runs of one process each",
                                              "Open MPI's mpirun first in PATH")));
  install("mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.8 Build 20221129");
  EXPECT_THAT(findings(), ElementsAre(finding(broken, "mpirun", "is Intel MPI 2021;", "first in PATH")));
  EXPECT_THAT(
      findings("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022"),
      ElementsAre(finding(broken, "mpirun", "this program is linked with MPICH 4", "MPICH's mpirun first in PATH")));
  install("mpirun", "mpirun (Open MPI) 4.1.4");
  EXPECT_THAT(
      findings("Intel(R) MPI Library 2021.8 for Linux* OS"),
      ElementsAre(finding(broken, "mpirun", "is Open MPI 4; this program is linked with Intel MPI 2021", "in PATH")));
  install("mpirun", "what is this");
  EXPECT_THAT(findings(), ElementsAre(finding(slow, "mpirun", "is an unknown MPI", "first in PATH")));
}

TEST_F(DoctorOfMpi, FindsTheMpirunOfAnotherVersion) {
  install("mpirun", "mpirun (Open MPI) 5.0.3");
  EXPECT_THAT(findings(), ElementsAre(finding(slow, "mpirun", "is Open MPI 5; this program is linked with Open MPI 4",
                                              "Open MPI 4's mpirun first in PATH")));
}

TEST_F(DoctorOfMpi, FindsThatMpirunRefusesRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "root alone is refused";
  install("mpirun", "mpirun (Open MPI) 4.1.4");
  const Variable half("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "0");
  EXPECT_THAT(findings(), ElementsAre(finding(slow, "mpirun", "refuses to run as root", "--allow-run-as-root")));
}

TEST_F(DoctorOfMpi, FindsASlurmWithoutPmix) {
  const Variable job("SLURM_JOB_ID", "7");
  EXPECT_THAT(findings(), ElementsAre(finding(slow, "mpirun", "not found", "openmpi-bin")));
  install("srun", "srun: MPI types are...\nsrun: none\nsrun: pmi2");
  EXPECT_THAT(findings(), ElementsAre(finding(broken, "srun", "no PMIx plugin", "libpmix-dev")));
  install("mpirun", "mpirun (Open MPI) 4.1.4");
  EXPECT_THAT(findings(), ElementsAre(finding(broken, "srun", "no PMIx plugin", "mpirun in the job"),
                                      finding(fine, "mpirun", "is Open MPI 4", "")));
  install("srun", "srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: pmix_v4\nsrun: pmix");
  EXPECT_THAT(findings(), ElementsAre(finding(fine, "srun", "has a PMIx plugin", ""), finding(fine, "mpirun", "", "")));
}

}  // namespace
}  // namespace lockstep::cli
