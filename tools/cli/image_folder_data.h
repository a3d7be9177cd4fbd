#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The data of a folder of images. Either the folder has one subfolder of images for each class; or it has a subfolder
/// "train" and, optionally, a test folder, both with one subfolder for each class. The test folder is the first of
/// "test", "val", "valid" and "validation" that exists. Throws the errors of image_dataset_from_directory. Throws
/// InputError if the two parts have different classes, and if a folder with any other name is beside "train". Throws
/// InvalidArgument for an empty `directory`, and for options.validation_split if there is a test folder.
TrainingData load_folder(const std::string& directory, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
