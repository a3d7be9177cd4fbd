#include <cstdlib>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/determinism.h>

namespace lockstep::test {
namespace {

// A single test, since determinism cannot be disabled again.
TEST(OpDeterminism, TellsLibrariesAndKeepsWhatTheUserHasSet) {
  EXPECT_FALSE(is_op_determinism_enabled());
  setenv("NCCL_ALGO", "Tree", 1);
  unsetenv("NCCL_PROTO");
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
  enable_op_determinism();
  EXPECT_TRUE(is_op_determinism_enabled());
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Tree");
  EXPECT_STREQ(std::getenv("NCCL_PROTO"), "Simple");
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:2");
}

}  // namespace
}  // namespace lockstep::test
