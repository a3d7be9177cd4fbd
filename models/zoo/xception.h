#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.Xception (Chollet 2017): images of 299 x 299 -> (classes). Layers have Keras' names. With the
/// default options, the model has 22910480 parameters. Throws InvalidArgument for images smaller than 71 x 71, and in
/// the other cases listed at resnet50.
Model xception(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
