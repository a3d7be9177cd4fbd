#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.ConvNeXtTiny, ConvNeXtSmall, ConvNeXtBase, ConvNeXtLarge and ConvNeXtXLarge (Liu et al. 2022):
/// images of 224 x 224 -> (classes). Images with 3 channels have values of 0 to 255, which the first layer normalizes;
/// images with other numbers of channels are not normalized. Layers have Keras' names: the name of a layer with weights
/// begins with the model's name, except for `layer_normalization`, the last layer of a model without the top. With the
/// default options, the models have 28589128, 50223688, 88591464, 197767336 and 350196968 parameters, in this order.
/// Throw InvalidArgument for images smaller than 32 x 32, and in the other cases listed at resnet50.
Model convnext_tiny(const ImageModelOptions& options = {});
Model convnext_small(const ImageModelOptions& options = {});
Model convnext_base(const ImageModelOptions& options = {});
Model convnext_large(const ImageModelOptions& options = {});
Model convnext_xlarge(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
