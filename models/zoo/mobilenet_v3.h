#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.MobileNetV3Small and MobileNetV3Large with alpha 1 (Howard et al. 2019): images of any size, with
/// values of 0 to 255, -> (classes). Layers have Keras' names. With the default options, the models have 2554968 and
/// 5507432 parameters, in this order. Throw InvalidArgument for images smaller than 32 x 32, and in the other cases
/// listed at resnet50.
Model mobilenet_v3_small(const ImageModelOptions& options = {});
Model mobilenet_v3_large(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
