#include "model_file.h"

#include <lockstep/models/serialization/file_formats.h>

namespace lockstep::cli {

void require_model_ending(const std::string& file, const std::string& option) {
  require(weights_format_of(file) || model_format_of(file), "{} {}: the name must end in {}", option, file,
          all_extensions());
}

bool holds_weights_alone(const std::string& file) { return weights_format_of(file) != nullptr; }

void save_by_name(const Model& model, const std::string& file) {
  if (holds_weights_alone(file)) return model.save_weights(file);
  model.save(file);
}

}  // namespace lockstep::cli
