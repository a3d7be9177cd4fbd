#pragma once

#include <string>

#include "data_source.h"

namespace lockstep::cli {

/// The tf.train.Example records of the TFRecord files that match a pattern, in the order of the files' names, with the
/// features of the first record. The target is the feature options.target, by default "image/class/label" or, if that
/// does not exist, "label". The inputs are the features options.inputs. Their default is "image/encoded" or "image" for
/// models that take images; otherwise it is all numeric features except the target, concatenated in the order of their
/// names. Images are resized to the size of the model's input. Throws the errors of tfrecord_dataset and array_data.
/// Throws InputError for a pattern that no file matches, if there is no target, and for a target that is not numeric.
/// Throws InvalidArgument for a name in the options that is not a feature, and for inputs that do not suit the model.
TrainingData load_tfrecord(const std::string& pattern, const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
