#pragma once

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/file_formats.h>

// Keras' legacy `.h5` files. A file of a whole model has the configuration in the attribute "model_config" and the
// weights in the group "model_weights"; a file without a configuration has the weights in the root. The attribute
// "weight_names" of a layer's group lists the layer's data sets, trainable weights first. A compiled model also has the
// attribute "training_config" and the optimizer's variables in the group "optimizer_weights", whose attribute
// "weight_names" lists them. All functions throw InputError naming the file; read_legacy_weights also throws
// InvalidArgument for a weight that is not f32.

namespace lockstep {

/// Whether the file is a legacy file of a model or of weights.
bool holds_legacy_weights(const hdf5::Reader& file);

/// Reads the weights of a network from the file's layers with weights, which are matched in order, or by name if the
/// options say so. From a file of an old multi_gpu_model, it reads the layers of the one model that all replicas ran.
/// Throws InputError if a weight does not fit and the options do not skip it. As in Keras, skip_mismatch without
/// by_name does not skip layers that the file or the model lacks.
WeightValues read_legacy_weights(const hdf5::Reader& file, const Network& network,
                                 const LoadWeightsOptions& options = {});

}  // namespace lockstep
