#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The rows of a CSV file. The target is the column options.target or, without one, the last column; the other columns
/// are the inputs. Texts are the classes, sorted. A file to predict may have the inputs alone, as many columns as the
/// model has inputs. Throws as read_csv and array_data; InputError for texts, missing and infinite values among the
/// inputs and for targets that do not suit the model, naming the column and the row, InvalidArgument for a target that
/// is not a column.
TrainingData load_csv(const std::string& file, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
