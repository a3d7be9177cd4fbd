#include <array>
#include <chrono>
#include <span>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/files/json_text.h>
#include <lockstep/models/files/zip_file.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/keras_2.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/optimizer_variables.h>
#include <lockstep/models/serialization/symbolic_model.h>
#include <lockstep/models/serialization/weights_h5.h>

// Keras 3's `.keras` files of whole models: zip archives with metadata.json, config.json and model.weights.h5.

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

const std::string metadata_entry = "metadata.json";
const std::string config_entry = "config.json";
const std::string optimizer_group = "optimizer/vars";

std::string metadata() {
  const std::tm now = fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  return Json{{"keras_version", "3.15.1"},  // the version with this layout
              {"date_saved", fmt::format("{:%Y-%m-%d@%H:%M:%S}", now)},
              {"backend", "lockstep"}}
      .dump();
}

Json read_json(const std::string& path, const std::string& entry) {
  const std::vector<std::byte> bytes = read_zip_entry(path, entry);
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, fmt::format("{}: {:?}", path, entry));
}

/// The fields are empty if the file has no readable metadata. Keras opens such files, too.
FileWriter writer_of(const std::string& path) {
  Json about;
  try {
    about = read_json(path, metadata_entry);
  } catch (const InputError&) {
    return {};
  }
  const auto text = [&](const char* key) {
    const Json value = about.is_object() ? about.value(key, Json()) : Json();
    return value.is_string() ? value.get<std::string>() : "";
  };
  return {.version = text("keras_version"), .backend = text("backend")};
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string optimizer_dataset(std::size_t i) { return fmt::format("{}/{}", optimizer_group, i); }

void write_keras_training(hdf5::Writer& file, const Training& training) {
  write_optimizer(file, optimizer_group, training,
                  [](std::size_t i, const std::string&) { return optimizer_dataset(i); });
  file.add_attribute(optimizer_group, "name", snake_case(training.config.optimizer.config().rule.class_name));
}

std::vector<std::byte> keras_contents(const Network& network, const NestedModel& model,
                                      const std::optional<Training>& training) {
  const std::string about = metadata();
  const NestedModel named = with_file_names(model, ConfigForm::keras_3);
  Json written = network_config(named);
  if (training) written["compile_config"] = compile_config(training->config, ConfigForm::keras_3);
  const std::string config = json_text(written);
  hdf5::Writer weights(static_cast<std::size_t>(network.count_params()) * sizeof(float) +
                       (training ? bytes_of_optimizer(*training) : 0));
  write_weights(weights, named);
  if (training) write_keras_training(weights, *training);
  const std::vector<std::byte> image = weights.image();
  const std::array<ZipEntry, 3> entries{
      {{metadata_entry, bytes_of(about)}, {config_entry, bytes_of(config)}, {keras_weights_entry, image}}};
  return make_zip(entries);
}

Json read_keras_config(const std::string& path) { return in_own_terms(read_json(path, config_entry), writer_of(path)); }

void set_keras_weights(const std::string& path, const Json&, const std::vector<SavedLayer>& layers,
                       std::optional<Training>& training) {
  std::vector<WeightsGroup> groups;
  for (const SavedLayer& saved : layers) groups.push_back({.path = saved.group, .layer = saved.layer});
  const hdf5::Reader file(path, read_zip_entry(path, keras_weights_entry));
  for (const auto& [variable, value] : read_weights(file, groups)) variable.assign(value);
  if (!training) return;
  OptimizerDatasets datasets;
  if (writer_of(path).version.starts_with("2.")) datasets.order = OptimizerDatasets::Order::tensorflow_2_11;
  const std::size_t count = file.names_in(optimizer_group).size();
  for (std::size_t i = 0; i < count; ++i) datasets.names.push_back(optimizer_dataset(i));
  training->config.optimizer = read_optimizer(file, optimizer_group, datasets, *training);
}

}  // namespace

constexpr ModelFormat keras_format{.extension = ".keras",
                                   .contents = keras_contents,
                                   .read_config = read_keras_config,
                                   .read_weights = set_keras_weights};

}  // namespace lockstep
