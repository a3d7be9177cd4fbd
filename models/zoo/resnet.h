#pragma once

#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

namespace lockstep::zoo {

///@{
/// keras.applications.ResNet50, ResNet101 and ResNet152 (He et al. 2015, with the strides in the first convolution of a
/// block and with biases in all convolutions): images of 224 x 224 -> (classes). Layers have Keras' names. With the
/// default options, the models have 25636712, 44707176 and 60419944 parameters, in this order. Throw InvalidArgument
/// for images smaller than 32 x 32. Like all models of keras.applications, they also throw InvalidArgument for
/// `pooling` with include_top, for a height or width of -1 with include_top (except MobileNetV3), for the `weights`
/// "imagenet", and for `weights` with include_top and a classifier_activation other than softmax and linear. With
/// `weights`, they also throw the errors of Model::load_weights.
Model resnet50(const ImageModelOptions& options = {});
Model resnet101(const ImageModelOptions& options = {});
Model resnet152(const ImageModelOptions& options = {});
///@}

///@{
/// keras.applications.ResNet50V2, ResNet101V2 and ResNet152V2 (He et al. 2016): like the functions above, with blocks
/// that normalize before their convolutions. With the default options, the models have 25613800, 44675560 and
/// 60380648 parameters, in this order.
Model resnet50_v2(const ImageModelOptions& options = {});
Model resnet101_v2(const ImageModelOptions& options = {});
Model resnet152_v2(const ImageModelOptions& options = {});
///@}

}  // namespace lockstep::zoo
