#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The examples are consecutive windows of a text's token ids, as long as the model's input; the target of each id is
/// the id that follows it. For the choice of the vocabulary see DataOptions::vocabulary. Throws the errors of
/// array_data, read_text and TextVocabulary. Throws InputError for a text shorter than a window and for a missing
/// vocabulary. Throws InvalidArgument for a model that does not take ids or has fewer outputs than the vocabulary has
/// ids.
TrainingData load_text(const std::string& file, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
