#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.MobileNetV2 with alpha 1 (Sandler et al. 2018): images of 224 x 224 -> (classes). Layers have
/// Keras' names. With the default options, the model has 3538984 parameters. Throws InvalidArgument for images smaller
/// than 32 x 32, and in the other cases listed at resnet50.
Model mobilenet_v2(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
