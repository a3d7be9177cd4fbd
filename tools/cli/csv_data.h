#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The rows of a CSV file. The target is the column options.target or, without one, the last column; the inputs are the
/// columns options.inputs or, without any, all others. Texts are the classes, sorted. In a file to predict, only
/// options.target is a target, and may be missing. Throws as read_csv and array_data; InputError for texts, missing and
/// infinite values among the inputs and for targets that do not suit the model, naming the column and the row,
/// InvalidArgument for names that are not columns and another number of inputs than the model's.
TrainingData load_csv(const std::string& file, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
