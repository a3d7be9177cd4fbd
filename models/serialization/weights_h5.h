#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/hdf5_file.h>

namespace lockstep {

/// Writes all weights in the layout of Keras 3's `.weights.h5`, which Keras' `load_weights` reads: f32, with kernels,
/// moving statistics and so on in Keras' axes and order, those of models that are part of this one in their groups.
/// Whole or not at all: on failure an old file is as it was.
/// A path that ends in `.safetensors` is written in that format instead, see safetensors.h. Throws InputError naming
/// path and reason, LogicError in a replica.
void save_weights(const Network& network, const std::string& path);

/// Sets all copies of all weights from such a file, written here or by Keras' `save_weights`; the state of Keras'
/// optimizer and random generators is passed over. Keras' legacy `.h5` files of weights or whole models are read, too,
/// their layers in the order of this model's, and files that have the layers of models in this one as its own. Throws
/// InputError naming path, layer and what does not fit when the file is not readable or is another model's, which then
/// keeps its weights; LogicError in a replica.
void load_weights(const Network& network, const std::string& path);

/// The group of a layer in such a file.
struct WeightsGroup {
  std::string path;  ///< "layers/conv2d_1"
  Layer layer;       ///< built
};

/// What a file that is still empty needs to be such a one.
void write_weights(hdf5::Writer& file, const NestedModel& model);

/// Sets the layers' weights from such a file that has them in these groups, which are all of its layers with weights.
/// Throws InputError as load_weights does.
void read_weights(const hdf5::Reader& file, const std::vector<WeightsGroup>& groups);

}  // namespace lockstep
