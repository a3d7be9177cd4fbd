#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/idx.h>
#include <lockstep/runtime/thread/device_scope.h>

#include "data_files.h"

namespace lockstep {
namespace {

using test::gzip;
using test::idx_bytes;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct Idx : testing::Test {
  std::filesystem::path write(const std::string& bytes) const {
    const std::string file = directory / "some.idx";
    test::write_text(file, bytes);
    return file;
  }
  /// Reading `bytes` as a matrix fails with one line that names the file and contains `complaint`.
  void expect_refused(const std::string& bytes, const std::string& complaint) const {
    const std::filesystem::path file = write(bytes);
    EXPECT_THAT([&] { read_idx(file, 2); },
                ThrowsMessage<InputError>(
                    AllOf(testing::StartsWith(file.string()), HasSubstr(complaint), Not(HasSubstr("\n")))));
  }

  test::TemporaryFolder directory;
  std::string intact = idx_bytes({2, 3}, "abcdef");
};

TEST_F(Idx, ReadsPlainAndCompressedFiles) {
  for (const std::string& bytes : {intact, gzip(intact)}) {
    const Tensor values = read_idx(write(bytes), 2);
    EXPECT_EQ(values.shape(), (Shape{2, 3}));
    EXPECT_THAT(values.to_vector<std::uint8_t>(), testing::ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  }
}

TEST_F(Idx, ReadsFilesLongerThanItsBuffer) {
  std::string content;
  for (std::int64_t i = 0; i < 1'000'000; ++i) content += static_cast<char>(i * i % 251);
  for (const bool packed : {false, true}) {
    const std::string bytes = idx_bytes({1'000'000}, content);
    const Tensor values = read_idx(write(packed ? gzip(bytes) : bytes), 1);
    EXPECT_EQ(std::string(values.span<std::uint8_t>().begin(), values.span<std::uint8_t>().end()), content);
  }
}

TEST_F(Idx, ReadsHighlyCompressedFiles) {
  const Tensor values = read_idx(write(gzip(idx_bytes({4000, 5000}, std::string(20'000'000, '\0')))), 2);
  EXPECT_EQ(values.elements(), 20'000'000);
}

TEST_F(Idx, ReadsFilesWithoutElements) { EXPECT_EQ(read_idx(write(idx_bytes({0, 3}, "")), 2).elements(), 0); }

TEST_F(Idx, RefusesWhatIsNoFile) {
  EXPECT_THAT([&] { read_idx(directory.path() / "absent", 2); }, ThrowsMessage<InputError>(HasSubstr("absent")));
  EXPECT_THAT([&] { read_idx(directory.path(), 2); }, ThrowsMessage<InputError>(HasSubstr("not a regular file")));
}

TEST_F(Idx, RefusesAFileCutShortAnywhere) {
  for (std::size_t length = 0; length < intact.size(); ++length)
    EXPECT_THROW(read_idx(write(intact.substr(0, length)), 2), InputError) << length;
  const std::string packed = gzip(intact);
  for (std::size_t length = 0; length < packed.size(); ++length)
    EXPECT_THROW(read_idx(write(packed.substr(0, length)), 2), InputError) << length;
}

TEST_F(Idx, SaysWhatIsCutShort) {
  expect_refused("", "ends within its header");
  expect_refused(intact.substr(0, 6), "ends within its header");
  expect_refused(idx_bytes({2, 7}, "abcdef"), "6 of the 14 bytes");
  const std::string packed = gzip(intact);
  expect_refused(packed.substr(0, packed.size() - 6), "cut short");
}

TEST_F(Idx, RefusesAWrongMagicNumber) {
  expect_refused("this is no IDX file", "magic number 0x74686973");
  expect_refused(idx_bytes({2, 3, 1}, "abcdef"), "0x00000803");
  std::string floats = intact;
  floats[2] = 0x0d;
  expect_refused(floats, "0x00000d02");
}

TEST_F(Idx, RefusesDamagedCompression) {
  std::string packed = gzip(intact);
  std::string wrong_checksum = packed;
  wrong_checksum[packed.size() - 8] ^= 1;
  expect_refused(wrong_checksum, "damaged");
  std::string wrong_content = packed;
  wrong_content[11] ^= 0x7f;
  EXPECT_THROW(read_idx(write(wrong_content), 2), InputError);
}

TEST_F(Idx, RefusesBytesAfterTheLastElement) {
  expect_refused(intact + "x", "more bytes");
  expect_refused(gzip(intact + "x"), "more bytes");
  expect_refused(gzip(intact) + "x", "more bytes");
  const std::string as_long_as_the_buffer = idx_bytes({1, 65'536 - 12}, std::string(65'536 - 12, 'a'));
  EXPECT_NO_THROW(read_idx(write(as_long_as_the_buffer), 2));
  expect_refused(as_long_as_the_buffer + "x", "more bytes");
}

TEST_F(Idx, DoesNotTrustSizesThatTheFileCannotHold) {
  expect_refused(idx_bytes({0xffffffff, 0xffffffff}, "abcdef"), "4294967295");
  expect_refused(gzip(idx_bytes({0xffffffff, 1}, "abcdef")), "4294967295");
}

TEST_F(Idx, IsReadIntoHostMemoryInADeviceScopeOfAGpu) {
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  EXPECT_THAT(read_idx(write(intact), 2).to_vector<char>(), testing::ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

}  // namespace
}  // namespace lockstep
