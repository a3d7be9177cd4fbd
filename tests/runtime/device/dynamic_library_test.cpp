#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/dynamic_library.h>

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DynamicLibrary, FindsFunctions) {
  const DynamicLibrary library("libm.so.6", "");
  EXPECT_EQ(library.function<double(double)>("sqrt")(9), 3);
}

TEST(DynamicLibrary, SaysWhatToDoAboutAMissingOne) {
  EXPECT_THAT(error_of<Unsupported>([] { const DynamicLibrary library("libnowhere.so.7", "install nowhere 7"); }),
              AllOf(HasSubstr("libnowhere.so.7 cannot be loaded"), HasSubstr("install nowhere 7")));
}

TEST(DynamicLibrary, NamesAMissingFunction) {
  EXPECT_THAT(error_of<Unsupported>([] { DynamicLibrary("libm.so.6", "").function<void()>("no_such_function"); }),
              AllOf(HasSubstr("libm.so.6"), HasSubstr("no_such_function")));
}

}  // namespace
}  // namespace lockstep::test
