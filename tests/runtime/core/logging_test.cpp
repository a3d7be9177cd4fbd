#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

TEST(Logging, WarnsOnStandardErrorAndKeepsStandardOutputForResults) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  log_warning("{} of {} {{}}", 2, "three");
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("2 of three {}"), std::string::npos) << error;
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Logging, PrintsMessagesAsTheyAre) {
  testing::internal::CaptureStderr();
  print_message("\r{} of {}", 2, "three");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r2 of three");
}

/// Prints to standard error while it is the open file `descriptor`, which is closed.
void print_to(int descriptor) {
  const int before = dup(STDERR_FILENO);
  dup2(descriptor, STDERR_FILENO);
  close(descriptor);
  EXPECT_NO_THROW(print_message("{}\n", 1));
  EXPECT_NO_THROW(log_warning("{}", 2));
  dup2(before, STDERR_FILENO);
  close(before);
}

TEST(Logging, DropsWhatStandardErrorDoesNotTake) {
  print_to(open("/dev/full", O_WRONLY));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  print_to(ends[1]);
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0) << "the program's other pipes work as before";
}

}  // namespace
}  // namespace lockstep
