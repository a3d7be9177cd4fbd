#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.DenseNet121, DenseNet169 and DenseNet201 (Huang et al. 2016): images of 224 x 224 -> (classes).
/// Layers have Keras' names. With the default options, the models have 8062504, 14307880 and 20242984 parameters, in
/// this order. Throw InvalidArgument for images smaller than 32 x 32, and in the other cases listed at resnet50.
Model densenet121(const ImageModelOptions& options = {});
Model densenet169(const ImageModelOptions& options = {});
Model densenet201(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
