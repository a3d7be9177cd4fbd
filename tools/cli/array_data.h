#pragma once

#include <optional>
#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The training or the test part of a source that has arrays of examples.
struct ArrayPart {
  std::string x{}, y{};               ///< names of the arrays, for messages; empty when the source lacks one
  std::optional<Dataset> examples{};  ///< empty without x
  std::optional<Dataset> targets{};   ///< y as x; empty without y
};

/// The examples that a model takes, for messages.
std::string taken_by(const ModelInput& model);

/// The data of a source that has at least one of the two parts, and labels where `options.use` needs them. Splits the
/// test part off the training part as options.validation_split says. Throws InputError for parts without rows and for
/// labels of a model of the zoo that are not integers, InvalidArgument for examples that do not suit the model and for
/// a split that leaves a part without examples or replaces another test part; the messages name options.source.
TrainingData array_data(ArrayPart train, ArrayPart test, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
