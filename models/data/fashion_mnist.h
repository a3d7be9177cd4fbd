#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <lockstep/models/data/split.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// Which images, and from where.
struct FashionMnistOptions {
  /// 60,000 or 10,000 images.
  Split split = Split::train;
  std::filesystem::path directory = "/usr/share/datasets/fashion-mnist";  ///< where dataset-fashion-mnist puts it
  std::optional<std::int64_t> limit{};                                    ///< only the first `limit`
};

/// Images (n, 28, 28) u8, black 0 to white 255, and labels (n) u8 in 0..9: 60,000 to train with, 10,000 to test.
/// Reads the four files of Xiao et al. 2017, each with or without `.gz`. Throws InputError, which names the file, for
/// one that is missing or damaged, images of another size, a label above 9, and images and labels of unequal number;
/// InvalidArgument for a limit below 1.
Example load_fashion_mnist(const FashionMnistOptions& options = {});

}  // namespace lockstep
