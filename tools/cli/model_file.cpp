#include "model_file.h"

namespace lockstep::cli {

void require_model_ending(const std::string& file, const std::string& option) {
  require(file.ends_with(".h5") || file.ends_with(".safetensors") || file.ends_with(".keras"),
          "{} {}: the name must end in .weights.h5, .safetensors, .keras or .h5", option, file);
}

bool holds_weights_alone(const std::string& file) {
  return file.ends_with(".weights.h5") || file.ends_with(".safetensors");
}

void save_by_name(const Model& model, const std::string& file) {
  if (holds_weights_alone(file)) return model.save_weights(file);
  model.save(file);
}

}  // namespace lockstep::cli
