#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <lockstep/models/data/split.h>
#include <lockstep/runtime/data/dataset.h>

// The binary versions of the data sets of Krizhevsky 2009, https://www.cs.toronto.edu/~kriz/cifar.html.
// `directory` is the folder of the files, cifar-10-batches-bin or cifar-100-binary, or the folder that contains it.
// Each file may also be compressed with gzip, with `.gz` after its name.

namespace lockstep {

/// load_cifar10's options.
struct Cifar10Options {
  std::filesystem::path directory{};    ///< see above
  Split split = Split::train;           ///< which of the two sets to read
  std::optional<std::int64_t> limit{};  ///< reads only the first `limit` images
};

/// Reads images (n, 32, 32, 3) u8, RGB, and labels (n) u8 in 0..9: 50,000 training images, from five files, or 10,000
/// test images, or the first `limit` of them. Throws InputError, which names the file, if a file is missing, cut short
/// or (if it is read to its end) too long, and if a label is above 9. Throws InvalidArgument for a limit below 1.
Example load_cifar10(const Cifar10Options& options);

/// Keras' label_mode.
enum class Cifar100Labels {
  fine,   ///< the 100 classes
  coarse  ///< the 20 superclasses of five classes each
};

/// load_cifar100's options.
struct Cifar100Options {
  std::filesystem::path directory{};                 ///< see above
  Split split = Split::train;                        ///< which of the two sets to read
  std::optional<std::int64_t> limit{};               ///< reads only the first `limit` images
  Cifar100Labels label_mode = Cifar100Labels::fine;  ///< which of the two labels of each image to read
};

/// Like load_cifar10, but from one file per split. Fine labels are in 0..99, coarse ones in 0..19.
Example load_cifar100(const Cifar100Options& options);

}  // namespace lockstep
