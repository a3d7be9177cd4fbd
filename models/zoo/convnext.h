#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.ConvNeXtTiny, ConvNeXtSmall, ConvNeXtBase, ConvNeXtLarge and ConvNeXtXLarge (Liu et al. 2022):
/// images of 224 x 224 with values of 0 to 255 -> (classes). Layers have Keras' names, which begin with the model's.
/// 28,589,128, 50,223,688, 88,591,464, 197,767,336 and 350,196,968 parameters by default. Throw InvalidArgument for
/// images smaller than 32 x 32, and in the other cases listed at resnet50.
Model convnext_tiny(const ImageModelOptions& options = {});
Model convnext_small(const ImageModelOptions& options = {});
Model convnext_base(const ImageModelOptions& options = {});
Model convnext_large(const ImageModelOptions& options = {});
Model convnext_xlarge(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
