#pragma once

#include <string>
#include <vector>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/graph/network.h>

// The layout of Keras 3's `.weights.h5`, which `.keras` files have inside: f32, with kernels, moving statistics and so
// on in Keras' axes and order, those of models that are part of another one in their groups.

namespace lockstep {

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
