#include <gtest/gtest.h>

#include <lockstep/models/compat/use_instead.h>

namespace lockstep {
namespace {

std::string said(std::string_view shim) {
  testing::internal::CaptureStderr();
  use_instead(shim, "call fit");
  return testing::internal::GetCapturedStderr();
}

TEST(UseInstead, IsSaidOnce) {
  EXPECT_NE(said("old_call").find("old_call exists for compatibility; new programs should call fit"),
            std::string::npos);
  EXPECT_EQ(said("old_call"), "");
  EXPECT_NE(said("other_call"), "");
}

}  // namespace
}  // namespace lockstep
