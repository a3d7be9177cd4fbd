#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/fashion_mnist.h>

#include "data_files.h"

namespace lockstep {
namespace {

using test::gzip;
using test::idx_bytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t fashion_pixels = 28 * 28;

/// A folder with three training images, filled with 0, 1 and 2 and labeled 4, 9 and 0; tests replace files in it.
struct FashionMnist : testing::Test {
  FashionMnist() {
    write(images, gzip(idx_bytes({3, 28, 28}, std::string(fashion_pixels, 0) + std::string(fashion_pixels, 1) +
                                                  std::string(fashion_pixels, 2))));
    write(labels, gzip(idx_bytes({3}, {4, 9, 0})));
  }

  void write(const std::string& name, const std::string& bytes) const { test::write_text(directory / name, bytes); }
  Example load(std::optional<std::int64_t> limit = std::nullopt) const {
    return load_fashion_mnist({.directory = directory.path(), .limit = limit});
  }
  /// Loading fails with one line that names the file and contains `complaint`.
  void expect_refused(const std::string& name, const std::string& complaint) const {
    EXPECT_THAT([&] { load(); }, ThrowsMessage<InputError>(AllOf(HasSubstr((directory.path() / name).string()),
                                                                 HasSubstr(complaint), Not(HasSubstr("\n")))));
  }

  const std::string images = "train-images-idx3-ubyte.gz";
  const std::string labels = "train-labels-idx1-ubyte.gz";
  test::TemporaryFolder directory;
};

TEST_F(FashionMnist, LoadsImagesAndLabels) {
  const Example set = load();
  EXPECT_EQ(set.x().shape(), (Shape{3, 28, 28}));
  EXPECT_EQ(set.x().dtype(), DType::u8);
  EXPECT_EQ(set.x().span<std::uint8_t>()[2 * fashion_pixels], 2);
  EXPECT_THAT(set.y().to_vector<std::uint8_t>(), ElementsAre(4, 9, 0));
}

TEST_F(FashionMnist, LoadsPlainFiles) {
  std::filesystem::remove(directory.path() / labels);
  write("train-labels-idx1-ubyte", idx_bytes({3}, {1, 2, 3}));
  EXPECT_THAT(load().y().to_vector<std::uint8_t>(), ElementsAre(1, 2, 3));
}

TEST_F(FashionMnist, GivesOnlyTheFirstWhenLimited) {
  EXPECT_THAT(load(2).y().to_vector<std::uint8_t>(), ElementsAre(4, 9));
  EXPECT_EQ(load(2).x().shape(), (Shape{2, 28, 28}));
  EXPECT_EQ(load(100).size(), 3);
  for (const std::int64_t limit : {0, -5})
    EXPECT_THAT([&] { load(limit); }, ThrowsMessage<InvalidArgument>(HasSubstr(std::to_string(limit))));
}

TEST_F(FashionMnist, SaysWhichFileIsMissingAndWhereToGetIt) {
  std::filesystem::remove(directory.path() / labels);
  expect_refused(labels, "dataset-fashion-mnist");
  EXPECT_THAT([&] { load_fashion_mnist({.split = Split::test, .directory = directory.path()}); },
              ThrowsMessage<InputError>(HasSubstr("t10k-images-idx3-ubyte.gz")));
}

TEST_F(FashionMnist, SaysWhichDirectoryIsMissing) {
  EXPECT_THAT([&] { load_fashion_mnist({.directory = directory.path() / "elsewhere"}); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("elsewhere"), HasSubstr("dataset-fashion-mnist"))));
  EXPECT_THROW(load_fashion_mnist({.directory = directory.path() / images}), InputError);
}

TEST_F(FashionMnist, RefusesALabelAboveNine) {
  write(labels, gzip(idx_bytes({3}, {4, 10, 0})));
  expect_refused(labels, "label 1 is 10");
}

TEST_F(FashionMnist, RefusesUnequalNumbers) {
  write(labels, gzip(idx_bytes({2}, {4, 9})));
  expect_refused(labels, "3 images");
  expect_refused(labels, "2 labels");
}

TEST_F(FashionMnist, RefusesImagesOfAnotherSize) {
  write(images, gzip(idx_bytes({3, 28, 14}, std::string(3 * fashion_pixels / 2, 0))));
  expect_refused(images, "28 x 14");
}

TEST_F(FashionMnist, RefusesSwappedFiles) {
  write(images, gzip(idx_bytes({3}, {4, 9, 0})));
  expect_refused(images, "magic number");
}

TEST_F(FashionMnist, RefusesAnEmptySet) {
  write(images, gzip(idx_bytes({0, 28, 28}, "")));
  write(labels, gzip(idx_bytes({0}, "")));
  expect_refused(images, "no images");
}

TEST(FashionMnistPackage, HasItsKnownSizeAndContent) {
  if (!std::filesystem::exists(FashionMnistOptions{}.directory))
    GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const Example train = load_fashion_mnist();
  EXPECT_EQ(train.x().shape(), (Shape{60'000, 28, 28}));
  const Example test = load_fashion_mnist({.split = Split::test});
  EXPECT_EQ(test.x().shape(), (Shape{10'000, 28, 28}));
  for (const Example& set : {train, test}) {
    std::vector<std::int64_t> per_class(10, 0);
    for (const std::uint8_t label : set.y().span<std::uint8_t>()) ++per_class.at(label);
    EXPECT_THAT(per_class, testing::Each(set.size() / 10));
  }
  EXPECT_THAT(train.y().slice_view(0, 0, 5).to_vector<std::uint8_t>(), ElementsAre(9, 0, 0, 3, 0));
  EXPECT_THAT(test.y().slice_view(0, 0, 5).to_vector<std::uint8_t>(), ElementsAre(9, 2, 1, 1, 6));
}

}  // namespace
}  // namespace lockstep
