#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The rows of a CSV file as examples. The target is the column options.target, by default the last one; the inputs are
/// the columns options.inputs, by default all other columns. If the target column has texts, the different texts in
/// sorted order are the class names. For predictions there is no default target, and the file may lack the column
/// options.target. Throws the errors of read_csv and array_data. Throws InputError, naming the column, if an input is a
/// text, missing or infinite, and if a target does not suit the model. Throws InvalidArgument for an empty file name,
/// if a name in the options is not a column, and if the model takes another number of inputs.
TrainingData load_csv(const std::string& file, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
