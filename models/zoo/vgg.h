#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.VGG16 and VGG19 (Simonyan and Zisserman 2014): images of 224 x 224 -> (classes). Layers have
/// Keras' names. With the default options, the models have 138357544 and 143667240 parameters, in this order. Throw
/// InvalidArgument for images smaller than 32 x 32, and in the other cases listed at resnet50.
Model vgg16(const ImageModelOptions& options = {});
Model vgg19(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
