#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.NASNetMobile and NASNetLarge (Zoph et al. 2017): images of 224 x 224 and 331 x 331 -> (classes).
/// These sizes are the defaults without the top, too. Layers have Keras' names. With the default options, the models
/// have 5326716 and 88949818 parameters, in this order. Throw InvalidArgument for images smaller than 32 x 32 or of any
/// size (-1), and in the other cases listed at resnet50.
Model nasnet_mobile(const ImageModelOptions& options = {});
Model nasnet_large(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
