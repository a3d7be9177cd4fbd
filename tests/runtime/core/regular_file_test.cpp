#include <string>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/regular_file.h>

namespace lockstep {
namespace {

TEST(RequireRegularFile, NamesWhatIsNone) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "text", "");
  EXPECT_NO_THROW(require_regular_file(folder / "text"));
  for (const std::string& none : {folder / "none", folder / std::string(300, 'x'), folder / "text/below"})
    EXPECT_ERROR(InputError, none + ": there is no such file", require_regular_file(none));
  EXPECT_ERROR(InputError, folder.path().string() + ": this is not a regular file",
               require_regular_file(folder.path()));
  EXPECT_ERROR(InputError, "/dev/null: this is not a regular file", require_regular_file("/dev/null"));
}

}  // namespace
}  // namespace lockstep
