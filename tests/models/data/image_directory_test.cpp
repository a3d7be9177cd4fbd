#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/image_directory.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/thread/parallel.h>

#include "image_files.h"

namespace lockstep {
namespace {

using test::write_png;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Images of one color each: 1 and 2 are cats, 3, 4 and 5 dogs, in nested folders; and files that must be ignored.
struct ImageDirectoryTest : testing::Test {
  ImageDirectoryTest() {
    for (const char* name : {"dogs", "cats", "dogs/young", "empty", ".hidden"})
      std::filesystem::create_directory(folder.path() / name);
    add("cats/a.png", 1);
    add("cats/b.PNG", 2);
    add("dogs/a.png", 3);
    add("dogs/young/z.jpeg", 4);
    add("dogs/z.jpg", 5);
    add(".hidden/a.png", 6);
    add("at the top.png", 7);
    write_text(folder / "cats/notes.txt", "not an image");
  }

  void add(const std::string& name, std::uint8_t value) const {
    write_png(folder / name, {.width = 4, .height = 2, .bytes = std::vector<std::uint8_t>(24, value)});
  }
  ImageDirectory open(ImageDirectoryOptions options = {}) const {
    options.image_size = {3, 5};
    return image_dataset_from_directory(folder.path(), options);
  }
  /// The colors in the order of an epoch.
  static std::vector<float> colors(const Dataset& set, std::uint64_t epoch = 0) {
    std::vector<float> values;
    for (const Example& example : set.epoch(epoch)) values.push_back(example.x().data<float>()[0]);
    return values;
  }

  test::TemporaryFolder folder;
};

TEST_F(ImageDirectoryTest, GivesImagesByClassAndName) {
  const ImageDirectory images = open({.shuffle = false});
  EXPECT_THAT(images.class_names, ElementsAre("cats", "dogs", "empty"));
  EXPECT_EQ(images.dataset.size(), 5);
  EXPECT_EQ(images.files.at(3), folder.path() / "dogs" / "young" / "z.jpeg");
  EXPECT_THAT(colors(images.dataset), ElementsAre(1, 2, 3, 4, 5));
  std::vector<int> labels;
  for (const Example& example : images.dataset.epoch()) {
    EXPECT_EQ(example.x().shape(), (Shape{3, 5, 3}));
    EXPECT_EQ(example.x().dtype(), DType::f32);
    EXPECT_THAT(example.x().to_vector<float>(), testing::Each(example.x().data<float>()[0]));
    labels.push_back(example.y().item<std::int32_t>());
  }
  EXPECT_THAT(labels, ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(images.labels.to_vector<int>(), ElementsAre(0, 0, 1, 1, 1));
}

TEST_F(ImageDirectoryTest, ReadsGrayWhenAsked) {
  for (const Batch& batch : open({.channels = 1}).dataset.batch(5).epoch())
    EXPECT_EQ(batch.x().shape(), (Shape{5, 3, 5, 1}));
}

TEST_F(ImageDirectoryTest, ShufflesBySeedAndEpochOnAnyNumberOfThreads) {
  const Dataset set = open({.seed = 3}).dataset;
  const std::vector<float> first = colors(set, 0);
  EXPECT_THAT(first, testing::UnorderedElementsAre(1, 2, 3, 4, 5));
  EXPECT_NE(colors(set, 1), first);
  EXPECT_NE(colors(open({.seed = 4}).dataset), first);
  for (const int threads : {1, 3}) {
    const ComputeThreadsScope share(threads);
    EXPECT_EQ(colors(set, 0), first);
  }
}

TEST_F(ImageDirectoryTest, IsPartedForGoodByTakeAndSkip) {
  for (const bool batched : {false, true}) {
    const Dataset set = open().dataset.map([](const Example& image) { return image; });
    const Dataset train = batched ? set.batch(1).prefetch().take(3) : set.take(3);
    const Dataset validation = batched ? set.batch(1).prefetch().skip(3) : set.skip(3);
    const std::vector<float> kept = colors(train, 0);
    EXPECT_EQ(train.size(), 3);
    EXPECT_EQ(validation.size(), 2);
    std::set<std::vector<float>> orders;
    for (std::uint64_t epoch = 0; epoch < 8; ++epoch) {
      const std::vector<float> colors_of_epoch = colors(train, epoch);
      EXPECT_THAT(colors_of_epoch, testing::UnorderedElementsAreArray(kept));
      orders.insert(colors_of_epoch);
      std::vector<float> all = colors(validation, epoch);
      all.insert(all.end(), kept.begin(), kept.end());
      EXPECT_THAT(all, testing::UnorderedElementsAre(1, 2, 3, 4, 5));
    }
    EXPECT_GT(orders.size(), 1U) << "each epoch has an order of its own";
    EXPECT_THAT(colors(train.skip(1).take(1)), testing::SizeIs(1));
  }
}

TEST_F(ImageDirectoryTest, IsLimitedToFilesOfAllClasses) {
  std::set<int> labels;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const ImageDirectory images = open({.shuffle = false, .seed = seed, .limit = 3});
    EXPECT_EQ(images.dataset.size(), 3);
    EXPECT_TRUE(std::ranges::is_sorted(images.files));
    EXPECT_TRUE(std::ranges::is_sorted(colors(images.dataset)));
    for (const Example& image : images.dataset.epoch()) labels.insert(image.y().item<std::int32_t>());
    EXPECT_THAT(colors(open({.seed = seed, .limit = 3}).dataset, 5),
                testing::UnorderedElementsAreArray(colors(images.dataset)));
  }
  EXPECT_THAT(labels, ElementsAre(0, 1));
  EXPECT_EQ(open({.limit = 9}).files.size(), 5U);
  EXPECT_THROW(open({.limit = 0}), InvalidArgument);
}

TEST_F(ImageDirectoryTest, SplitsItsFilesForValidation) {
  const auto part = [&](Subset subset, std::uint64_t seed, bool shuffle, double split = 0.5) {
    return open({.shuffle = shuffle, .seed = seed, .validation_split = split, .subset = subset});
  };
  EXPECT_THAT(colors(part(Subset::training, 0, false).dataset), ElementsAre(1, 2, 3));
  EXPECT_THAT(colors(part(Subset::validation, 0, false).dataset), ElementsAre(4, 5))
      << "the end of the files, as in Keras";
  EXPECT_THAT(colors(part(Subset::validation, 0, false, 0.39).dataset), ElementsAre(5)) << "rounded down";
  std::set<std::vector<float>> parts;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const ImageDirectory validation = part(Subset::validation, seed, true);
    EXPECT_TRUE(std::ranges::is_sorted(validation.files));
    EXPECT_TRUE(std::ranges::is_sorted(validation.labels.to_vector<int>()));
    EXPECT_THAT(validation.class_names, ElementsAre("cats", "dogs", "empty"));
    std::vector<float> all = colors(validation.dataset, 3);
    EXPECT_EQ(all.size(), 2U);
    parts.insert(all);
    for (const float color : colors(part(Subset::training, seed, true).dataset)) all.push_back(color);
    EXPECT_THAT(all, testing::UnorderedElementsAre(1, 2, 3, 4, 5));
  }
  EXPECT_GT(parts.size(), 1U) << "drawn by the seed";
}

TEST_F(ImageDirectoryTest, RefusesASplitThatIsNotOne) {
  for (const double split : {0.0, 1.0, -0.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT([&] { open({.validation_split = split, .subset = Subset::training}); },
                ThrowsMessage<InvalidArgument>(HasSubstr("must be between 0 and 1")));
  EXPECT_THAT([&] { open({.validation_split = 0.5}); }, ThrowsMessage<InvalidArgument>(HasSubstr("given together")));
  EXPECT_THAT([&] { open({.subset = Subset::training}); }, ThrowsMessage<InvalidArgument>(HasSubstr("given together")));
  EXPECT_THAT(
      [&] { open({.validation_split = 0.1, .subset = Subset::validation}); },
      ThrowsMessage<InputError>(HasSubstr("a validation_split of 0.1 of 5 image(s) leaves a part without images")));
}

TEST_F(ImageDirectoryTest, NamesTheFileThatIsDamaged) {
  const std::string file = folder / "dogs/a.png";
  const std::string whole = test::contents_of(file);
  for (const std::string& bytes : {std::string("no image"), whole.substr(0, whole.size() / 2)}) {
    write_text(file, bytes);
    DatasetIterator pass = open({.shuffle = false}).dataset.prefetch().epoch();
    EXPECT_TRUE(pass.next());
    EXPECT_TRUE(pass.next());
    EXPECT_THAT([&] { pass.next(); }, ThrowsMessage<InputError>(AllOf(HasSubstr(file), Not(HasSubstr("\n")))));
    EXPECT_FALSE(pass.next());
  }
}

TEST_F(ImageDirectoryTest, OpensOnlyTheFilesOfTheRowsThatAreWanted) {
  const Dataset batches = open({.shuffle = false}).dataset.batch(3);
  for (const char* file : {"cats/b.PNG", "dogs/a.png", "dogs/z.jpg"}) write_text(folder / file, "no image");
  const Dataset first_rows = batches.rows_of_batches([](std::int64_t) { return RowRange{0, 1}; }).value();
  EXPECT_THAT(colors(first_rows), ElementsAre(1, 4));
  EXPECT_THROW((void)batches.epoch().next(), InputError);
}

TEST_F(ImageDirectoryTest, RefusesWhatItCannotRead) {
  const auto refused = [&](const char* name, const char* complaint) {
    EXPECT_THAT([&] { image_dataset_from_directory(folder.path() / name); },
                ThrowsMessage<InputError>(AllOf(HasSubstr((folder.path() / name).string()), HasSubstr(complaint))));
  };
  refused("none", "no such directory");
  refused("cats/a.png", "no such directory");
  refused("cats", "has no .jpg, .jpeg, .png or .bmp files in a folder for each class");
  write_text(folder / "empty/photo.webp", "no image that is read");
  EXPECT_THAT([&] { open(); },
              ThrowsMessage<InputError>(HasSubstr("empty: has no .jpg, .jpeg, .png or .bmp files, but photo.webp")));
  write_text(folder / "empty/photo.gif", "no image that is read");
  EXPECT_THAT([&] { open(); }, ThrowsMessage<InputError>(HasSubstr("photo.gif: GIF images are not read")));
  std::filesystem::remove_all(folder.path() / "empty");
  EXPECT_THROW(image_dataset_from_directory(folder.path(), {.image_size = {0, 5}}), InvalidArgument);
  EXPECT_THROW(open({.channels = 4}), InvalidArgument);
}

TEST_F(ImageDirectoryTest, IsReadIntoHostMemoryInADeviceScopeOfAGpu) {
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  EXPECT_THAT(colors(open({.shuffle = false}).dataset), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(open({.validation_split = 0.4, .subset = Subset::validation}).dataset.size(), 2);
}

}  // namespace
}  // namespace lockstep
