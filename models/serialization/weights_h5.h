#pragma once

#include <string>
#include <vector>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/file_formats.h>

// The layout of Keras 3's `.weights.h5` files, which `.keras` files contain: f32 weights with Keras' axes and order,
// and a group for each nested model.

namespace lockstep {

/// Name of the `.weights.h5` file in a `.keras` archive.
inline constexpr const char* keras_weights_entry = "model.weights.h5";

/// The group of a layer in a `.weights.h5` file.
struct WeightsGroup {
  std::string path;  ///< e.g. "layers/conv2d_1"
  Layer layer;       ///< built
};

/// The groups of the model's layers, without the layers inside layers.
std::vector<WeightsGroup> layer_groups(const NestedModel& model);

/// Writes the groups and weights of `model` to an empty file. Throws InvalidArgument for a weight that is not f32.
void write_weights(hdf5::Writer& file, const NestedModel& model);

/// Reads the weights of the layers, and of the layers inside them, from the file's groups. `layers` must cover all
/// layers with weights in the file. Throws the same errors as load_weights.
WeightValues read_weights(const hdf5::Reader& file, const std::vector<WeightsGroup>& layers,
                          const LoadWeightsOptions& options = {});

}  // namespace lockstep
