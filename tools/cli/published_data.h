#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The form of the prepared examples of both data sets.
inline const ExampleForm small_images{{32, 32, 3}, 10};

/// Fashion-MNIST from `directory`; if that is empty, from the folder where Debian's package installs it. Throws
/// InputError for missing or damaged files.
TrainingData load_fashion(const std::string& directory, const DataOptions& options);
/// CIFAR-10 from `directory`, a folder with its binary version. Throws InputError for missing or damaged files,
/// InvalidArgument for an empty `directory`.
TrainingData load_cifar(const std::string& directory, const DataOptions& options);

}  // namespace lockstep::cli
