#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// A folder that has one subfolder of images for each class, or "train" and a test folder that do. Throws as
/// image_dataset_from_directory; InputError for parts of different classes and for other folders beside "train",
/// InvalidArgument for options.validation_split with a test folder.
TrainingData load_folder(const std::string& directory, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
