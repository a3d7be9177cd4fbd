#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// Consecutive windows of a text's ids, as long as the model's input; the targets are the ids that follow each id of a
/// window. The vocabulary is that of options.vocabulary or beside options.trained_files; train learns one otherwise.
/// Throws as array_data, read_text and TextVocabulary; InputError for a text shorter than a window and a missing
/// vocabulary, InvalidArgument for a model that does not take ids or has fewer outputs than there are ids.
TrainingData load_text(const std::string& file, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
