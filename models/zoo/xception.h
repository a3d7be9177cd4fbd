#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.Xception (Chollet 2017): images of 299 x 299 -> (classes). Layers have Keras' names. 22,910,480
/// parameters by default. Throws InvalidArgument for images smaller than 71 x 71, and in the other cases listed at
/// resnet50.
Model xception(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
