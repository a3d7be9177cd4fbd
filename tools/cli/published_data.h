#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The form of the examples of both data sets.
inline const ExampleForm small_images{{32, 32, 3}, 10};

/// Fashion-MNIST of a folder, by default the one where Debian's package installs it. Throws InputError for missing or
/// damaged files.
TrainingData load_fashion(const std::string& directory, const DataOptions& options);
/// CIFAR-10 of a folder with its binary version. Throws InputError for missing or damaged files, InvalidArgument
/// without a folder.
TrainingData load_cifar(const std::string& directory, const DataOptions& options);

}  // namespace lockstep::cli
