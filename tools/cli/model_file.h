#pragma once

#include <string>

#include <lockstep/models/training/model.h>

namespace lockstep::cli {

/// Throws InvalidArgument unless the name ends in the extension of a format (file_formats.h). `option` is what the name
/// was given as.
void require_model_ending(const std::string& file, const std::string& option);

/// Whether a file of such a name holds weights alone, not a whole model.
bool holds_weights_alone(const std::string& file);

/// Writes weights, or the whole model, as the file's name says.
void save_by_name(const Model& model, const std::string& file);

}  // namespace lockstep::cli
