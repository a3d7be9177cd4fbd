#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/data/resize.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// The part of the files that is read with a validation_split.
enum class Subset { training, validation };

/// image_dataset_from_directory's options.
struct ImageDirectoryOptions {
  ImageSize image_size{256, 256};  ///< size to which all images are resized
  std::int64_t channels = 3;       ///< 1 for gray, 3 for RGB; Keras' color_mode
  /// Reads the files in a new order in each epoch. Parts that `take` and `skip` select hold the same files in every
  /// epoch. If false, files are sorted by class and name.
  bool shuffle = true;
  std::uint64_t seed = 0;               ///< seed of the shuffle and of the selection by `limit`
  std::optional<std::int64_t> limit{};  ///< maximum number of files, drawn from all classes
  /// Fraction of the files for validation, between 0 and 1 and rounded down to whole files. With shuffle, the files for
  /// validation are drawn by `seed`; without, they are the last files. Calls with the same directory, seed, shuffle and
  /// limit make the same split.
  std::optional<double> validation_split{};
  std::optional<Subset> subset{};  ///< the part to read; required with validation_split
};

/// image_dataset_from_directory's result.
struct ImageDirectory {
  Dataset dataset;                           ///< single images and their labels, not batched
  std::vector<std::string> class_names;      ///< [i]: the class of label i
  std::vector<std::filesystem::path> files;  ///< files in use, sorted by class and name
  Tensor labels;                             ///< (files) i32, the class of each file
};

/// Reads the images of a directory with one folder per class, like Keras' function of this name. Classes are sorted by
/// name; folders whose names begin with a dot are skipped. The images of a class are the .jpg, .jpeg, .png and .bmp
/// files, in upper or lower case, in its folder and all folders below it. An element is one image, x (height, width,
/// channels) f32 in 0..255, resized by resize_bilinear, and its class y () i32; call batch() on the data set to train
/// on it. Images are decoded when the data set is read, on all threads of the reader. Throws InputError for a directory
/// that is missing or has no images, for a class that has files but no images, for a GIF image, and for a part of a
/// split without images. Throws InvalidArgument for an image size or a limit below 1, for channels other than 1 and 3,
/// for a validation_split that is not between 0 and 1, and if only one of validation_split and subset is given. Reading
/// the data set throws the same errors as read_image.
ImageDirectory image_dataset_from_directory(const std::filesystem::path& directory,
                                            const ImageDirectoryOptions& options = {});

}  // namespace lockstep
