#include <csignal>
#include <span>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/temporary_folder.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using test::contents_of;
using test::error_of;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

void write(const std::string& path, const std::string& text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}
std::string failure(const std::string& path, const std::string& text = "new") {
  return error_of<InputError>([&] { write(path, text); });
}

class AtomicFile : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / "weights";
};

TEST_F(AtomicFile, WritesAndReplaces) {
  write(file_, "first");
  EXPECT_EQ(contents_of(file_), "first");
  const std::string second(1 << 20, 'x');
  write(file_, second);
  EXPECT_EQ(contents_of(file_), second);
  write(file_, "");
  EXPECT_EQ(contents_of(file_), "");
  EXPECT_THAT(folder_.names(), ElementsAre("weights"));
}

TEST_F(AtomicFile, WritesToTheWorkingFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  write("weights", "here");
  fs::current_path(before);
  EXPECT_EQ(contents_of(file_), "here");
}

TEST_F(AtomicFile, KeepsTheModeOfAnOldFile) {
  write_text(file_, "old");
  ASSERT_EQ(::chmod(file_.c_str(), 0640), 0);
  write(file_, "new");
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms(0640));
}

TEST_F(AtomicFile, FollowsASymbolicLink) {
  write_text(folder_ / "real", "old");
  fs::create_symlink("real", file_);
  write(file_, "new");
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_EQ(contents_of(folder_ / "real"), "new");
}

TEST_F(AtomicFile, NamesWhatCannotBeWritten) {
  const std::string nowhere = folder_ / "none/weights";
  EXPECT_EQ(failure(nowhere), nowhere + ": cannot be written: No such file or directory");
  write_text(file_, "a file");
  EXPECT_EQ(failure(file_ + "/below"), file_ + "/below: cannot be written: Not a directory");
  EXPECT_EQ(failure(folder_.path()),
            folder_.path().string() + ": cannot be written: it exists and is not a regular file");
  EXPECT_THAT(failure("/dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(failure(""), HasSubstr("needs a name"));
  EXPECT_THAT(folder_.names(), ElementsAre("weights"));
}

/// Drops the superuser's rights during its lifetime: they would make every folder writable.
class WithoutRights {
 public:
  WithoutRights() : user_(::geteuid()) {
    if (user_ == 0) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~WithoutRights() {
    if (user_ == 0) {
      EXPECT_EQ(::seteuid(user_), 0);
    }
  }

 private:
  uid_t user_;
};

TEST_F(AtomicFile, LeavesAReadOnlyFolderAsItWas) {
  write_text(file_, "old");
  ASSERT_EQ(::chmod(file_.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  {
    const WithoutRights user;
    EXPECT_EQ(failure(file_), file_ + ": cannot be written: Permission denied");
  }
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_EQ(contents_of(file_), "old");
  EXPECT_THAT(folder_.names(), ElementsAre("weights"));
}

TEST_F(AtomicFile, DoesNotReplaceAWriteProtectedFile) {
  write_text(file_, "old");
  ASSERT_EQ(::chmod(file_.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  {
    const WithoutRights user;
    EXPECT_EQ(failure(file_), file_ + ": cannot be written: Permission denied");
  }
  EXPECT_EQ(contents_of(file_), "old");
}

TEST_F(AtomicFile, KeepsTheOldFileWhenSpaceEnds) {
  write_text(file_, "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // so that write() fails as on a full disk
  const std::string message = failure(file_, std::string(10000, 'x'));
  std::signal(SIGXFSZ, handler);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(message, file_ + ": cannot be written: File too large");
  EXPECT_EQ(contents_of(file_), "old");
  EXPECT_THAT(folder_.names(), ElementsAre("weights"));
}

TEST_F(AtomicFile, OnlyThoseOfKilledProcessesAreRemovedAsUnfinished) {
  const std::string of_killed = ".lockstep-999999999-0.tmp";  // a number above those of processes
  const std::string of_living = fmt::format(".lockstep-{}-0.tmp", ::getppid());
  for (const std::string& name : {of_killed, of_living}) write_text(folder_ / name, "half a fi");
  remove_unfinished_files(folder_.path());
  EXPECT_THAT(folder_.names(), ElementsAre(of_living));
}

}  // namespace
}  // namespace lockstep
