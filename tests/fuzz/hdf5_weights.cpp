#include <array>

#include <lockstep/models/data/hdf5_dataset.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/weights_h5.h>
#include <lockstep/models/training/model_files.h>

#include "fuzz_target.h"
#include "hdf5_edits.h"
#include "small_network.h"

namespace lockstep::fuzz {
namespace {

/// Weights alone, in Keras 3's layout.
Hdf5Base own_weights(const Network& network) {
  hdf5::Writer file(0);
  write_weights(file, keras_model(network, ""));
  return Hdf5Base(file.image());
}

/// Weights alone, in Keras' legacy layout.
Hdf5Base legacy_weights(const Network& network) {
  hdf5::Writer file(0);
  std::vector<std::string> layers;
  for (const Layer& layer : network.layers()) {
    std::vector<std::string> names;
    for (const Variable& variable : layer.impl().variables()) {
      names.push_back(variable.name());
      file.add_dataset(layer.name() + "/" + names.back(), variable.value().to_vector<float>(), variable.shape());
    }
    file.add_attribute(layer.name(), "weight_names", names);
    layers.push_back(layer.name());
  }
  file.add_attribute("/", "layer_names", layers);
  return Hdf5Base(file.image());
}

/// A file with examples.
Hdf5Base examples() {
  hdf5::Writer file(0);
  for (const char* name : {"x", "y"}) file.add_dataset(name, std::vector<float>{1, 2, 3, 4}, {2, 2});
  return Hdf5Base(file.image());
}

}  // namespace
}  // namespace lockstep::fuzz

/// Reads the input as weights in either of Keras' layouts, and as examples.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const fuzz::InputFile file("model.weights.h5");
  static const Network network = fuzz::small_network();
  static const std::array bases{fuzz::own_weights(network), fuzz::legacy_weights(network), fuzz::examples()};
  FuzzedDataProvider input(data, size);
  const auto which = input.ConsumeIntegralInRange<std::size_t>(0, bases.size() - 1);
  const std::vector<std::byte> image = fuzz::edit(bases[which], input);
  file.write(reinterpret_cast<const std::uint8_t*>(image.data()), image.size());
  fuzz::result_or_error([&] { load_weights(network, file.path()); });
  fuzz::result_or_error([&] { (void)hdf5_dataset(file.path(), "x", "y").epoch().next(); });
  return 0;
}
