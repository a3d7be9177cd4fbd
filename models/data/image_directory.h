#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/data/resize.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// How images are read.
struct ImageDirectoryOptions {
  ImageSize image_size{256, 256};  ///< all are resized to it
  std::int64_t channels = 3;       ///< 1 for gray, 3 for red, green and blue; Keras' color_mode
  /// Files in another order in each epoch; `take` and `skip` split them in the same way in all epochs. Otherwise they
  /// are sorted by class and name.
  bool shuffle = true;
  std::uint64_t seed = 0;               ///< of the shuffle, and of the limit's choice
  std::optional<std::int64_t> limit{};  ///< of the number of files, which are drawn from all classes
};

/// The images of a directory.
struct ImageDirectory {
  Dataset dataset;                           ///< of single images
  std::vector<std::string> class_names;      ///< the class of label i
  std::vector<std::filesystem::path> files;  ///< sorted by class and name
};

/// The images of a directory with one folder for each class: Keras' function of this name. Classes are sorted by name;
/// each has the .jpg, .jpeg, .png and .bmp files, in any case, in its folder and the folders below it. An element is
/// one image, x (height, width, channels) f32 in 0..255, resized by resize_bilinear, and its class y () i32; follow it
/// by batch(). Images are decoded while the set is read, on all threads of the reader. Throws InputError for a
/// directory that is missing or has no images, for a class without images or with GIF images, InvalidArgument for
/// an image size or limit below 1 and other channels; when read, read_image's errors.
ImageDirectory image_dataset_from_directory(const std::filesystem::path& directory,
                                            const ImageDirectoryOptions& options = {});

}  // namespace lockstep
