#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.InceptionResNetV2 (Szegedy et al. 2016): images of 299 x 299 -> (classes). Layers have Keras'
/// names. With the default options, the model has 55873736 parameters. Throws InvalidArgument for images smaller than
/// 75 x 75, and in the other cases listed at resnet50.
Model inception_resnet_v2(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
