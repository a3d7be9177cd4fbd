#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.EfficientNetB0 to EfficientNetB7 (Tan and Le 2019): images with values of 0 to 255 -> (classes).
/// Images are 224 x 224 for B0; the sides are 240 for B1, 260 for B2, 300 for B3, 380 for B4, 456 for B5, 528 for B6
/// and 600 for B7. Layers have Keras' names. With the default options, B0 has 5330571 parameters, and B7 has 66658687.
/// Throw InvalidArgument for images smaller than 32 x 32, and in the other cases listed at resnet50. Keras' published
/// weights of B0 to B7 need a second division by sqrt(variance) after the layer `normalization`; Keras adds this
/// division only for `weights="imagenet"`. After you load these weights, square the variance in that layer instead.
Model efficientnet_b0(const ImageModelOptions& options = {});
Model efficientnet_b1(const ImageModelOptions& options = {});
Model efficientnet_b2(const ImageModelOptions& options = {});
Model efficientnet_b3(const ImageModelOptions& options = {});
Model efficientnet_b4(const ImageModelOptions& options = {});
Model efficientnet_b5(const ImageModelOptions& options = {});
Model efficientnet_b6(const ImageModelOptions& options = {});
Model efficientnet_b7(const ImageModelOptions& options = {});
///@}

///@{
/// keras.applications.EfficientNetV2B0 to EfficientNetV2B3, EfficientNetV2S, EfficientNetV2M and EfficientNetV2L (Tan
/// and Le 2021): images with values of 0 to 255 -> (classes). Images are 224 x 224 for B0; the sides are 240 for B1,
/// 260 for B2, 300 for B3, 384 for S, and 480 for M and L. Layers have Keras' names. With the default options, B0 has
/// 7200312 parameters, and L has 119027848. Throw InvalidArgument for images smaller than 32 x 32, and in the other
/// cases listed at resnet50.
Model efficientnet_v2b0(const ImageModelOptions& options = {});
Model efficientnet_v2b1(const ImageModelOptions& options = {});
Model efficientnet_v2b2(const ImageModelOptions& options = {});
Model efficientnet_v2b3(const ImageModelOptions& options = {});
Model efficientnet_v2s(const ImageModelOptions& options = {});
Model efficientnet_v2m(const ImageModelOptions& options = {});
Model efficientnet_v2l(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
