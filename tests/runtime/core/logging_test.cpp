#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lockstep
