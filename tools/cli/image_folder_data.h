#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The data of a folder that has either one subfolder of images for each class, or a subfolder "train" and optionally a
/// test folder (the first of "test", "val", "valid" and "validation" that exists), both with one subfolder for each
/// class. Throws the errors of image_dataset_from_directory; InputError if the two parts have different classes, and if
/// "train" has a folder with another name beside it; InvalidArgument for options.validation_split with a test folder.
TrainingData load_folder(const std::string& directory, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
