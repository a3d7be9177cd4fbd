#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/image_mask_directory.h>
#include <lockstep/runtime/thread/parallel.h>

#include "image_files.h"

namespace lockstep {
namespace {

using test::write_png;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

/// Four images of one color each, whose masks have the same number as their color.
struct ImageMaskDirectory : testing::Test {
  ImageMaskDirectory() {
    for (const char* name : {"images", "masks", "images/more", "masks/more"})
      std::filesystem::create_directory(folder.path() / name);
    add("a", ".png", 1);
    add("b.c", ".JPG", 2);
    add("d", ".png", 3);
    add("more/a", ".png", 4);
  }

  void add(const std::string& name, const std::string& extension, std::uint8_t value) const {
    add_image(name + extension, value);
    add_mask(name, value);
  }
  void add_image(const std::string& name, std::uint8_t value) const {
    write_png(folder / ("images/" + name), {.width = 4, .height = 2, .bytes = std::vector<std::uint8_t>(24, value)});
  }
  void add_mask(const std::string& name, std::uint8_t value, std::uint32_t width = 4) const {
    write_png(folder / ("masks/" + name + ".png"), {.width = width,
                                                    .height = 2,
                                                    .color_type = PNG_COLOR_TYPE_GRAY,
                                                    .bytes = std::vector<std::uint8_t>(2 * width, value)});
  }
  ImageMaskDirectories open(ImageDirectoryOptions options = {}) const {
    options.image_size = {3, 5};
    return image_mask_dataset_from_directories(folder / "images", folder / "masks", options);
  }
  /// The colors in the order of an epoch, which are those of the masks.
  static std::vector<float> colors(const Dataset& set, std::uint64_t epoch = 0) {
    std::vector<float> values;
    for (const Example& example : set.epoch(epoch)) {
      values.push_back(example.x().data<float>()[0]);
      EXPECT_THAT(example.y().to_vector<float>(), testing::Each(values.back()));
    }
    return values;
  }
  void expect_refused(const std::string& complaint) const {
    EXPECT_THAT([&] { (void)colors(open({.shuffle = false}).dataset); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(complaint), Not(HasSubstr("\n")))));
  }

  test::TemporaryFolder folder;
};

TEST_F(ImageMaskDirectory, GivesImagesAndTheirMasks) {
  const ImageMaskDirectories pairs = open({.shuffle = false});
  EXPECT_EQ(pairs.dataset.size(), 4);
  EXPECT_THAT(colors(pairs.dataset), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(pairs.image_files.at(1), folder / "images/b.c.JPG");
  EXPECT_EQ(pairs.mask_files.at(1), folder / "masks/b.c.png");
  EXPECT_EQ(pairs.mask_files.at(3), folder / "masks/more/a.png");
  const Batch batch = pairs.dataset.batch(4).epoch().next().value();
  EXPECT_EQ(batch.x().shape(), (Shape{4, 3, 5, 3}));
  EXPECT_EQ(batch.x().dtype(), DType::f32);
  EXPECT_EQ(batch.y().shape(), (Shape{4, 3, 5}));
  EXPECT_EQ(batch.y().dtype(), DType::u8);
}

TEST_F(ImageMaskDirectory, ResizesMasksToTheNearestPixel) {
  write_png(folder / "masks/a.png",
            {.width = 4, .height = 2, .color_type = PNG_COLOR_TYPE_GRAY, .bytes = {1, 2, 3, 4, 5, 6, 7, 8}});
  const auto mask = [&](ImageSize size) {
    const auto set = image_mask_dataset_from_directories(folder / "images", folder / "masks",
                                                         {.image_size = size, .shuffle = false});
    return set.dataset.epoch().next().value().y().to_vector<int>();
  };
  EXPECT_THAT(mask({2, 4}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(mask({2, 8}), ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8));
  EXPECT_THAT(mask({1, 2}), ElementsAre(6, 8)) << "as tf.image.resize with method=\"nearest\"";
}

TEST_F(ImageMaskDirectory, ShufflesLimitsAndSplitsPairs) {
  const Dataset set = open({.seed = 3}).dataset;
  const std::vector<float> first = colors(set, 0);
  EXPECT_THAT(first, testing::UnorderedElementsAre(1, 2, 3, 4));
  std::set<std::vector<float>> orders;
  for (std::uint64_t epoch = 0; epoch < 8; ++epoch) orders.insert(colors(set, epoch));
  EXPECT_GT(orders.size(), 1U);
  const ComputeThreadsScope share(3);
  EXPECT_EQ(colors(set, 0), first);
  EXPECT_EQ(open({.limit = 2}).image_files.size(), 2U);
  for (const bool shuffle : {false, true}) {
    std::vector<float> all;
    for (const Subset subset : {Subset::training, Subset::validation})
      for (const float color : colors(open({.shuffle = shuffle, .validation_split = 0.25, .subset = subset}).dataset))
        all.push_back(color);
    EXPECT_THAT(all, testing::UnorderedElementsAre(1, 2, 3, 4));
  }
  EXPECT_THAT(
      [&] { open({.validation_split = 0.1, .subset = Subset::validation}); },
      ThrowsMessage<InputError>(HasSubstr("a validation_split of 0.1 of 4 image(s) leaves a part without images")));
}

TEST_F(ImageMaskDirectory, NamesTheFileWithoutPartner) {
  add_image("z.png", 5);
  expect_refused((folder / "images/z.png") + ": has no mask " + (folder / "masks/z.png"));
  add_mask("z", 5);
  add_image("z.bmp", 5);
  expect_refused((folder / "images/z.png") + ": z.bmp has the same name");
  std::filesystem::remove(folder / "images/z.bmp");
  add_mask("more/y", 5);
  expect_refused((folder / "masks/more/y.png") + ": has no image " + (folder / "images/more/y"));
}

TEST_F(ImageMaskDirectory, NamesTheMaskThatDoesNotFit) {
  add_mask("d", 3, 5);
  expect_refused((folder / "masks/d.png") + ": the mask has 2 x 5 pixels, its image 2 x 4");
  write_text(folder / "masks/d.png", "no image");
  expect_refused((folder / "masks/d.png") + ": no PNG image, which a mask must be");
}

TEST_F(ImageMaskDirectory, RefusesWhatItCannotRead) {
  const auto refused = [&](const std::string& images, const std::string& masks, const std::string& complaint) {
    EXPECT_THAT([&] { image_mask_dataset_from_directories(folder / images, folder / masks); },
                ThrowsMessage<InputError>(HasSubstr(complaint)));
  };
  refused("none", "masks", (folder / "none") + ": no such directory");
  refused("images", "none", (folder / "none") + ": no such directory");
  std::filesystem::create_directory(folder.path() / "empty");
  refused("empty", "empty", (folder / "empty") + ": has no .jpg, .jpeg, .png or .bmp files");
  write_text(folder / "images/photo.gif", "no image that is read");
  refused("images", "masks", "photo.gif: GIF images are not read");
  EXPECT_THROW(open({.channels = 2}), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
