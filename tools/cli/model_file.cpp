#include "model_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include <lockstep/models/serialization/file_formats.h>

namespace lockstep::cli {

void require_model_ending(const std::string& file, const std::string& option) {
  require(weights_format_of(file) || model_format_of(file), "{} {}: the name must end in {}", option, file,
          all_extensions());
}

void require_file(const std::string& file, const std::string& option) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  require<InputError>(status.type() != std::filesystem::file_type::not_found, "{} {}: there is no such file", option,
                      file);
  require<InputError>(std::filesystem::is_regular_file(status), "{} {}: cannot be read: {}", option, file,
                      error ? error.message() : "it is not a regular file");
  const bool readable = access(file.c_str(), R_OK) == 0;
  require<InputError>(readable, "{} {}: cannot be read: {}", option, file, std::strerror(errno));
}

bool holds_weights_alone(const std::string& file) { return weights_format_of(file) != nullptr; }

void save_by_name(const Model& model, const std::string& file) {
  if (holds_weights_alone(file)) return model.save_weights(file);
  model.save(file);
}

}  // namespace lockstep::cli
