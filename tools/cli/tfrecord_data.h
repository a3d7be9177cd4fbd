#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The tf.train.Example records of the TFRecord files that match a pattern, in the order of the files' names, with the
/// features of the first record. The target is options.target, "image/class/label" or "label". The inputs are
/// options.inputs; otherwise, for a model of images, "image/encoded" or "image", for others all numbers but the target,
/// joined in the order of their names. Images are resized to the model's. Throws as tfrecord_dataset and array_data;
/// InputError for a pattern without files, InvalidArgument for features that are missing or do not suit the model.
TrainingData load_tfrecord(const std::string& pattern, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
