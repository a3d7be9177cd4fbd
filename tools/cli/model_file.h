#pragma once

#include <string>

#include <lockstep/models/training/model.h>

namespace lockstep::cli {

/// Throws InvalidArgument unless the name ends in the extension of a format (file_formats.h). `option` is the option's
/// name, for the message.
void require_model_ending(const std::string& file, const std::string& option);

/// Throws InputError, naming `option`, unless `file` is a regular file that can be read.
void require_file(const std::string& file, const std::string& option);

/// Whether the file has the extension of a format that holds only weights, not whole models.
bool holds_weights_alone(const std::string& file);

/// Writes the weights or the whole model, depending on the extension of `file`.
void save_by_name(const Model& model, const std::string& file);

}  // namespace lockstep::cli
