#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.InceptionV3 (Szegedy et al. 2015): images of 299 x 299 -> (classes). Layers have Keras' names.
/// 23,851,784 parameters by default. Throws InvalidArgument for images smaller than 75 x 75, and the other errors of
/// resnet50.
Model inception_v3(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
