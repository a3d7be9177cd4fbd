#include <string_view>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>

#include <lockstep/models/files/zip_file.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class ZipFile : public testing::Test {
 protected:
  std::string text_in(const std::string& name) const {
    const std::vector<std::byte> bytes = read_zip_entry(file_, name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / "archive.zip";
  const std::string large_ = fmt::format("{:x>{}}", "end", (3 << 20) + 3);
};

TEST_F(ZipFile, GivesEntriesBack) {
  const std::vector<ZipEntry> entries{{"a.json", bytes_of("{}")}, {"b/large", bytes_of(large_)}, {"empty", {}}};
  const std::vector<std::byte> archive = make_zip(entries);
  EXPECT_EQ(archive, make_zip(entries));
  EXPECT_GT(archive.size(), large_.size());  // stored without compression
  write_file_atomically(file_, archive);
  EXPECT_EQ(text_in("a.json"), "{}");
  EXPECT_EQ(text_in("b/large"), large_);
  EXPECT_EQ(text_in("empty"), "");
}

TEST_F(ZipFile, NamesWhatIsWrong) {
  EXPECT_ERROR(InputError, file_ + ": there is no such file", text_in("a"));
  EXPECT_ERROR(InputError, folder_.path().string() + ": this is not a regular file",
               read_zip_entry(folder_.path().string(), "a"));
  test::write_text(file_, "no archive");
  EXPECT_ERROR(InputError, file_ + ": cannot be opened as a zip archive: Not a zip archive", text_in("a"));
  write_file_atomically(file_, make_zip(std::vector<ZipEntry>{{"a", bytes_of(large_)}}));
  EXPECT_ERROR(InputError, file_ + ": has no entry \"b\"", text_in("b"));
  std::string damaged = test::contents_of(file_);
  damaged[1 << 20] ^= 1;
  test::write_text(file_, damaged);
  EXPECT_ERROR(InputError, file_ + ": entry \"a\" is damaged: CRC error", text_in("a"));
  test::write_text(file_, damaged.substr(0, damaged.size() / 2));
  EXPECT_ERROR(InputError, "cannot be opened as a zip archive", text_in("a"));
}

TEST_F(ZipFile, RefusesNamesOutsideOfItsFolder) {
  for (const char* name : {"../a", "b/../../a", "..", "/etc/a"}) {
    write_file_atomically(file_, make_zip(std::vector<ZipEntry>{{"in", bytes_of("{}")}, {name, bytes_of("x")}}));
    EXPECT_ERROR(InputError, fmt::format("{}: entry \"{}\" lies outside of the archive's folder", file_, name),
                 text_in("in"));
  }
  write_file_atomically(file_, make_zip(std::vector<ZipEntry>{{"in", bytes_of("{}")}, {"a..b/..c", bytes_of("x")}}));
  EXPECT_EQ(text_in("in"), "{}");
}

TEST_F(ZipFile, ReadsWhatIsStoredOrDeflatedOnly) {
  write_file_atomically(file_, make_zip(std::vector<ZipEntry>{{"a", bytes_of("{}")}}));
  std::string archive = test::contents_of(file_);
  constexpr char bzip2 = 12;
  archive[8] = archive[archive.find("PK\1\2") + 10] = bzip2;  // the compression method, in both headers
  test::write_text(file_, archive);
  EXPECT_ERROR(InputError, file_ + ": entry \"a\" is compressed by method 12; stored and deflated ones are read",
               text_in("a"));
}

}  // namespace
}  // namespace lockstep
