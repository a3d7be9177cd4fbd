#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lockstep/models/serialization/keras_file.h>
#include <lockstep/models/serialization/legacy_file.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

/// How files of one extension are written and read.
struct Format {
  void (*save)(const Network&, const std::string& name, const std::string& path);
  nlohmann::ordered_json (*read_config)(const std::string& path);
  void (*read_weights)(const std::string& path, const std::vector<ConfiguredModel::Saved>& layers);
};

/// Throws InvalidArgument for an extension that stands for no format.
const Format& format_of(const std::string& path) {
  static constexpr Format keras{save_keras_file, read_keras_config, read_keras_weights};
  static constexpr Format legacy{save_legacy_file, read_legacy_config, read_legacy_weights};
  const std::string extension = std::filesystem::path(path).extension();
  if (extension == ".keras") return keras;
  require(
      extension == ".h5" || extension == ".hdf5",
      "{}: the extension of a model's file says its format: .keras, or .h5 or .hdf5 for Keras' legacy one, got {:?}",
      path, extension);
  return legacy;
}

void check_outside_replica(const char* what) {
  require<LogicError>(!current_context().in_replica(), "{} works on all replicas' weights; call it outside a replica",
                      what);
}

}  // namespace

void Model::save(const std::string& path) const {
  const Format& format = format_of(path);
  check_outside_replica("save_model");
  const State& saved = state_->saved();
  format.save(saved.network, saved.name, path);
}

void save_model(const Model& model, const std::string& path) { model.save(path); }

Model load_model(const std::string& path, const LoadOptions& options) {
  const Format& format = format_of(path);
  check_outside_replica("load_model");
  try {
    const ConfiguredModel configured = model_from_config(format.read_config(path));
    Model model(configured.inputs, configured.outputs, {.name = configured.name, .seed = options.seed});
    format.read_weights(path, configured.layers);
    return model;
  } catch (InputError& error) {
    if (!std::string_view(error.what()).starts_with(path)) error.add_context(path);
    throw;
  }
}

}  // namespace lockstep
