#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.MobileNet with alpha 1 (Howard et al. 2017): images of 224 x 224 -> (classes). Layers have Keras'
/// names. 4,253,864 parameters by default. Throws InvalidArgument for images smaller than 32 x 32 and for the
/// `pooling`, `input_shape`, `weights` and `classifier_activation` that resnet50 rejects; also throws the errors of
/// Model::load_weights.
Model mobilenet(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
