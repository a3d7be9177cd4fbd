#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The rows of a CSV file. The target is the column options.target or, without one, the last column; the other columns
/// are the inputs. If the target's values are texts, the distinct texts in sorted order are the classes. A file for
/// prediction may consist of the inputs alone. Throws the errors of read_csv and array_data; InputError for texts,
/// missing and infinite values among the inputs and for targets that do not suit the model, naming the column and the
/// row; InvalidArgument if options.target is not a column.
TrainingData load_csv(const std::string& file, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
