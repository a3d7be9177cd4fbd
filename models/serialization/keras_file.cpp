#include <array>
#include <chrono>
#include <span>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/serialization/atomic_file.h>
#include <lockstep/models/serialization/hdf5_file.h>
#include <lockstep/models/serialization/keras_file.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/weights_h5.h>
#include <lockstep/models/serialization/zip_file.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

const char* const config_entry = "config.json";
const char* const weights_entry = "model.weights.h5";

std::string metadata() {
  const std::tm now = fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  // The version whose layout this is.
  return Json{{"keras_version", "3.15.1"}, {"date_saved", fmt::format("{:%Y-%m-%d@%H:%M:%S}", now)}}.dump();
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

void save_keras_file(const Network& network, const std::string& name, const std::string& path) {
  const std::string about = metadata();
  const std::string config = network_config(network, name).dump();
  hdf5::Writer weights(static_cast<std::size_t>(network.count_params()) * sizeof(float));
  write_weights(weights, network);
  const std::vector<std::byte> image = weights.image();
  const std::array<ZipEntry, 3> entries{
      {{"metadata.json", bytes_of(about)}, {config_entry, bytes_of(config)}, {weights_entry, image}}};
  write_file_atomically(path, make_zip(entries));
}

Json read_keras_config(const std::string& path) {
  const std::vector<std::byte> bytes = read_zip_entry(path, config_entry);
  const char* const text = reinterpret_cast<const char*>(bytes.data());
  try {
    return Json::parse(text, text + bytes.size());
  } catch (const Json::exception& error) {
    fail<InputError>("{}: {:?} is not JSON: {}", path, config_entry, error.what());
  }
}

void read_keras_weights(const std::string& path, const std::vector<ConfiguredModel::Saved>& layers) {
  std::vector<WeightsGroup> groups;
  for (const ConfiguredModel::Saved& saved : layers) groups.push_back({.path = saved.group, .layer = saved.layer});
  read_weights(hdf5::Reader(path, read_zip_entry(path, weights_entry)), groups);
}

}  // namespace lockstep
