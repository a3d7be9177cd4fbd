#include <support/expect_error.h>
#include <tools/cli/output_file.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::cli {
namespace {

TEST(OutputWriter, WritesEachAndThrowsTheFirstError) {
  OutputWriter writer;
  int written = 0;
  EXPECT_TRUE(writer.write([&] { ++written; }));
  writer.finish();
  EXPECT_FALSE(writer.write([] { fail<InputError>("a.json: cannot be written"); }));
  EXPECT_FALSE(writer.write([] { throw std::runtime_error("b.json: cannot be written"); }));
  EXPECT_TRUE(writer.write([&] { ++written; }));
  EXPECT_EQ(written, 2);
  testing::internal::CaptureStderr();
  EXPECT_ERROR(InputError, "a.json: cannot be written", writer.finish());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lockstep: b.json: cannot be written\n");
}

}  // namespace
}  // namespace lockstep::cli
