#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <lockstep/models/data/split.h>
#include <lockstep/runtime/data/dataset.h>

// The binary versions of the data sets of Krizhevsky 2009, https://www.cs.toronto.edu/~kriz/cifar.html. The directory
// is where their archive was unpacked, or the folder that it makes there: cifar-10-batches-bin, cifar-100-binary. Each
// file may also be compressed with gzip, `.gz` after its name.

namespace lockstep {

/// Which images, and from where.
struct Cifar10Options {
  std::filesystem::path directory{};    ///< with the unpacked files
  Split split = Split::train;           ///< which images
  std::optional<std::int64_t> limit{};  ///< only the first `limit`; no more is read
};

/// Images (n, 32, 32, 3) u8, red, green, blue, and labels (n) u8 in 0..9: 50,000 to train with, in five files, 10,000
/// to test. Throws InputError, which names the file, for one that is missing, cut short or too long, and for a label
/// above 9; InvalidArgument for a limit below 1.
Example load_cifar10(const Cifar10Options& options);

/// What the labels mean.
enum class Cifar100Labels {
  fine,   ///< the 100 classes
  coarse  ///< the 20 groups of five classes
};

/// Which images and labels, and from where.
struct Cifar100Options {
  std::filesystem::path directory{};                 ///< with the unpacked files
  Split split = Split::train;                        ///< which images
  std::optional<std::int64_t> limit{};               ///< only the first `limit`; no more is read
  Cifar100Labels label_mode = Cifar100Labels::fine;  ///< by Keras' name
};

/// As load_cifar10, from one file for each split; labels in 0..99, coarse ones in 0..19.
Example load_cifar100(const Cifar100Options& options);

}  // namespace lockstep
