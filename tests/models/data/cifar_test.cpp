#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/cifar.h>
#include <lockstep/runtime/thread/device_scope.h>

#include "data_files.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t cifar_pixels = 32 * 32;

/// A record: the labels, then for pixel p of the three planes `first` + p, + 2 p, + 3 p, modulo 256.
std::string record(const std::string& labels, int first) {
  std::string bytes = labels;
  for (const int step : {1, 2, 3})
    for (std::size_t pixel = 0; pixel < cifar_pixels; ++pixel)
      bytes += static_cast<char>(first + step * static_cast<int>(pixel));
  return bytes;
}

/// Writes a file padded with zeros to its full size; it is sparse on disk.
void write_padded(const std::string& path, const std::string& bytes, std::uintmax_t size) {
  test::write_text(path, bytes);
  std::filesystem::resize_file(path, size);
}

constexpr std::uintmax_t cifar10_bytes = 10'000 * (1 + 3 * cifar_pixels);

/// All files of CIFAR-10 and the smaller one of CIFAR-100, as unpacked from their archives.
struct Cifar : testing::Test {
  Cifar() {
    std::filesystem::create_directory(ten);
    std::filesystem::create_directory(hundred);
    for (int i = 1; i <= 5; ++i)
      write_padded(ten / ("data_batch_" + std::to_string(i) + ".bin"), record({static_cast<char>(i)}, 10 * i),
                   cifar10_bytes);
    write_padded(ten / "test_batch.bin", record({9}, 100) + record({7}, 200), cifar10_bytes);
    write_padded(hundred / "test.bin", record({19, 99}, 1) + record({3, 50}, 2), 10'000 * (2 + 3 * cifar_pixels));
  }

  Example load_test(std::optional<std::int64_t> limit = std::nullopt) const {
    return load_cifar10({.directory = folder.path(), .split = Split::test, .limit = limit});
  }
  /// Loading the test images fails with one line that names the file and contains `complaint`.
  void expect_refused(const std::string& complaint) const {
    EXPECT_THAT([&] { load_test(); }, ThrowsMessage<InputError>(AllOf(HasSubstr((ten / "test_batch.bin").string()),
                                                                      HasSubstr(complaint), Not(HasSubstr("\n")))));
  }

  test::TemporaryFolder folder;
  const std::filesystem::path ten = folder.path() / "cifar-10-batches-bin";
  const std::filesystem::path hundred = folder.path() / "cifar-100-binary";
};

TEST_F(Cifar, GivesImagesWithTheirChannelsLast) {
  const Example set = load_test(2);
  EXPECT_EQ(set.x().shape(), (Shape{2, 32, 32, 3}));
  EXPECT_THAT(set.y().to_vector<int>(), ElementsAre(9, 7));
  const auto values = set.x().span<std::uint8_t>();
  for (std::size_t image = 0; image < 2; ++image)
    for (std::size_t pixel = 0; pixel < cifar_pixels; ++pixel)
      for (std::size_t channel = 0; channel < 3; ++channel)
        ASSERT_EQ(values[(image * cifar_pixels + pixel) * 3 + channel],
                  static_cast<std::uint8_t>(100 * (image + 1) + (channel + 1) * pixel));
}

TEST_F(Cifar, HasItsKnownSizes) {
  EXPECT_EQ(load_test().x().shape(), (Shape{10'000, 32, 32, 3}));
  const Example train = load_cifar10({.directory = folder.path()});
  EXPECT_EQ(train.x().shape(), (Shape{50'000, 32, 32, 3}));
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(train.y().span<std::uint8_t>()[static_cast<std::size_t>(i) * 10'000], i + 1);
    EXPECT_EQ(train.x().slice_view(0, i * 10'000, i * 10'000 + 1).span<std::uint8_t>()[0], 10 * (i + 1));
  }
}

TEST_F(Cifar, ALimitMayEndWithinAFileAndReadsNoMore) {
  std::filesystem::remove(ten / "data_batch_3.bin");
  const Example set = load_cifar10({.directory = folder.path(), .limit = 10'001});
  EXPECT_EQ(set.x().dim(0), 10'001);
  EXPECT_EQ(set.y().span<std::uint8_t>()[10'000], 2);
  EXPECT_EQ(load_test(1'000'000).size(), 10'000);
  EXPECT_THROW(load_test(0), InvalidArgument);
}

TEST_F(Cifar, MayBeGivenTheFolderThatTheArchiveMakesAndCompressedFiles) {
  const std::string image = record({4}, 3);
  std::filesystem::remove(ten / "test_batch.bin");
  test::write_text(ten / "test_batch.bin.gz", test::gzip(image));
  const Example set = load_cifar10({.directory = ten, .split = Split::test, .limit = 1});
  EXPECT_EQ(set.y().item<std::uint8_t>(), 4);
  EXPECT_EQ(set.x().span<std::uint8_t>()[3], 4);
}

TEST_F(Cifar, HundredHasFineAndCoarseLabels) {
  Cifar100Options options{.directory = folder.path(), .split = Split::test, .limit = 2};
  EXPECT_THAT(load_cifar100(options).y().to_vector<int>(), ElementsAre(99, 50));
  options.label_mode = Cifar100Labels::coarse;
  const Example coarse = load_cifar100(options);
  EXPECT_THAT(coarse.y().to_vector<int>(), ElementsAre(19, 3));
  EXPECT_EQ(coarse.x().span<std::uint8_t>()[4], 1 + 2) << "green of the second pixel";
  options.split = Split::train;
  EXPECT_THAT([&] { load_cifar100(options); }, ThrowsMessage<InputError>(HasSubstr("train.bin")));
}

TEST_F(Cifar, SaysWhatIsMissing) {
  std::filesystem::remove(ten / "data_batch_5.bin");
  EXPECT_THAT(
      [&] { load_cifar10({.directory = ten}); },
      ThrowsMessage<InputError>(AllOf(HasSubstr((ten / "data_batch_5.bin").string()), HasSubstr("cifar.html"))));
  EXPECT_THAT([&] { load_cifar10({.directory = folder.path() / "elsewhere"}); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("elsewhere"), HasSubstr("cifar-10-batches-bin"))));
}

TEST_F(Cifar, RefusesFilesOfAnotherLength) {
  for (const std::uintmax_t less : {std::uintmax_t{1}, 1 + 3 * cifar_pixels}) {
    std::filesystem::resize_file(ten / "test_batch.bin", cifar10_bytes - less);
    expect_refused("within record 9999 of 10000");
  }
  std::filesystem::resize_file(ten / "test_batch.bin", 0);
  expect_refused("within record 0 of 10000");
  std::filesystem::resize_file(ten / "test_batch.bin", cifar10_bytes + 1);
  expect_refused("more bytes");
}

TEST_F(Cifar, RefusesLabelsOutOfRange) {
  write_padded(ten / "test_batch.bin", record({9}, 0) + record({10}, 0), cifar10_bytes);
  expect_refused("label 1 is 10");
  Cifar100Options options{.directory = folder.path(), .split = Split::test};
  write_padded(hundred / "test.bin", record({20, 99}, 0), 10'000 * (2 + 3 * cifar_pixels));
  EXPECT_EQ(load_cifar100(options).size(), 10'000);
  options.label_mode = Cifar100Labels::coarse;
  EXPECT_THAT([&] { load_cifar100(options); }, ThrowsMessage<InputError>(HasSubstr("label 0 is 20")));
}

TEST_F(Cifar, IsReadIntoHostMemoryInADeviceScopeOfAGpu) {
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  EXPECT_THAT(load_test(2).y().to_vector<int>(), ElementsAre(9, 7));
}

}  // namespace
}  // namespace lockstep
