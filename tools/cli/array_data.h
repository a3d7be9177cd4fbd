#pragma once

#include <optional>
#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The training or the test part of a source that has arrays of examples.
struct ArrayPart {
  std::string x{}, y{};               ///< names of the arrays, for messages; empty when the source lacks one
  std::optional<Dataset> examples{};  ///< nullopt without x
  std::optional<Dataset> targets{};   ///< y, stored as the inputs x() of examples; nullopt without y
};

/// Describes the shape of the examples that a model takes, for messages, e.g. "(28, 28, 1)".
std::string taken_by(const ModelInput& model);

/// The data of a source. With options.validation_split, splits the test part off the end of the training part. If the
/// source has only a test part, TrainingData::train has the same examples as TrainingData::test. Messages of errors
/// name options.source. Throws InputError if a part has no rows. Image classifiers of the zoo also need labels: throws
/// InputError if the source has none, or labels that are not integers below 2^30. Throws InvalidArgument for examples
/// that do not suit the model, for a split that leaves a part without examples, and for a split of a source that
/// already has a test part. Preconditions: the source has at least one of the two parts; each part has labels if
/// options.use needs them.
TrainingData array_data(ArrayPart train, ArrayPart test, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
