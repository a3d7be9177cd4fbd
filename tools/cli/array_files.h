#pragma once

#include <string>

#include "data_source.h"

// Files with the arrays x_train, y_train, x_test and y_test.

namespace lockstep::cli {

/// The data of an HDF5 file. Throws the errors of array_data and hdf5_dataset, and InputError for a file without the
/// arrays that options.use needs.
TrainingData load_hdf5(const std::string& file, const DataOptions& options, const ModelInput& model);
/// The data of a .npz file. Without x_train and x_test, the arrays x and y are the training part. Throws the errors of
/// array_data, read_npz and Dataset::from_tensors, and InputError for a file without the arrays that options.use needs.
TrainingData load_numpy(const std::string& file, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
