#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.MobileNet with alpha 1 (Howard et al. 2017): images of 224 x 224 -> (classes). Layers have Keras'
/// names. With the default options, the model has 4253864 parameters. Throws InvalidArgument for images smaller than 32
/// x 32, and in the other cases listed at resnet50.
Model mobilenet(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
