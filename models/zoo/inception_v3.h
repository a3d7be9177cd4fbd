#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

/// keras.applications.InceptionV3 (Szegedy et al. 2015): images of 299 x 299 -> (classes). Layers have Keras' names.
/// With the default options, the model has 23851784 parameters. Throws InvalidArgument for images smaller than 75 x 75,
/// and in the other cases listed at resnet50.
Model inception_v3(const ImageModelOptions& options = {});

}  // namespace lockstep::zoo
