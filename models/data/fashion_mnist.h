#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <lockstep/models/data/split.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// load_fashion_mnist's options.
struct FashionMnistOptions {
  /// The 60,000 training or the 10,000 test images.
  Split split = Split::train;
  /// The folder of the files; the default is the folder of the Debian package dataset-fashion-mnist.
  std::filesystem::path directory = "/usr/share/datasets/fashion-mnist";
  std::optional<std::int64_t> limit{};  ///< returns only the first `limit` images
};

/// Reads images (n, 28, 28) u8, from 0 for black to 255 for white, and labels (n) u8 in 0..9, from the files of Xiao et
/// al. 2017, each with or without `.gz`. Throws InputError, which names the file, if a file is missing or damaged, if
/// images are not 28 x 28, if a label is above 9, and if the numbers of images and labels differ or are 0. Throws
/// InvalidArgument for a limit below 1.
Example load_fashion_mnist(const FashionMnistOptions& options = {});

}  // namespace lockstep
