#pragma once

#include <map>
#include <optional>
#include <string>

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/random_images.h>
#include <lockstep/models/layers/repeat.h>
#include <lockstep/models/layers/resizing.h>
#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/convnext.h>
#include <lockstep/models/zoo/densenet.h>
#include <lockstep/models/zoo/efficientnet.h>
#include <lockstep/models/zoo/inception_resnet_v2.h>
#include <lockstep/models/zoo/inception_v3.h>
#include <lockstep/models/zoo/mobilenet.h>
#include <lockstep/models/zoo/mobilenet_v2.h>
#include <lockstep/models/zoo/mobilenet_v3.h>
#include <lockstep/models/zoo/nasnet.h>
#include <lockstep/models/zoo/resnet.h>
#include <lockstep/models/zoo/vgg.h>
#include <lockstep/models/zoo/xception.h>

// The models of layers_interop.py that resize or change images, and the models of keras.applications.

namespace lockstep {

inline Model resized_model() {
  const Symbol pictures = Input({9, 12, 3});
  Symbol x = Resizing({.height = 6, .width = 15})(pictures);
  x = UpSampling2D({.size = {2, 1}, .interpolation = Interpolation::bilinear})(x);
  x = Resizing({.height = 5,
                .width = 6,
                .interpolation = Interpolation::bicubic,
                .crop_to_aspect_ratio = true,
                .antialias = true})(x);
  x = UpSampling2D({.size = {1, 3}, .interpolation = Interpolation::bicubic})(x);
  x = Resizing({.height = 8,
                .width = 9,
                .interpolation = Interpolation::nearest,
                .pad_to_aspect_ratio = true,
                .fill_value = 0.5})(x);
  x = Resizing({.height = 7, .width = 5, .interpolation = Interpolation::bicubic})(x);
  x = UpSampling2D({.interpolation = Interpolation::lanczos3})(x);
  x = Resizing({.height = 6, .width = 7, .interpolation = Interpolation::lanczos5, .antialias = true})(x);
  x = CenterCrop({.height = 7, .width = 3})(CenterCrop({.height = 4, .width = 5})(x));
  x = Resizing({.height = 5, .width = 5, .antialias = true})(x);
  return {pictures, Dense({.units = 3})(Flatten()(x))};
}

inline Model augmented_model() {
  const Symbol pictures = Input({6, 7, 3});
  Symbol x = RandomFlip({.mode = FlipMode::horizontal})(RandomCrop({.height = 6, .width = 7})(pictures));
  x = RandomTranslation({.height_factor = 0.25,
                         .width_factor = {-0.5, 0.25},
                         .fill_mode = FillMode::wrap,
                         .interpolation = Interpolation::nearest})(x);
  x = RandomZoom({.height_factor = 0.5})(x);
  x = RandomZoom(
      {.height_factor = {0, 0.5}, .width_factor = RandomRange(0.25), .fill_mode = FillMode::constant, .fill_value = 2})(
      x);
  x = RandomRotation({.factor = {-0.125, 0.25}, .fill_mode = FillMode::nearest})(x);
  x = RandomBrightness({.factor = 0.25, .value_range = {-1, 1}})(x);
  x = RandomContrast({.factor = {0.25, 0.5}})(x);
  return {pictures, Dense({.units = 3})(Flatten()(x))};
}

/// The models of keras.applications by the names of Keras' functions.
inline const std::map<std::string, Model (*)(const zoo::ImageModelOptions&)> applications{
    {"ConvNeXtBase", zoo::convnext_base},
    {"ConvNeXtLarge", zoo::convnext_large},
    {"ConvNeXtSmall", zoo::convnext_small},
    {"ConvNeXtTiny", zoo::convnext_tiny},
    {"ConvNeXtXLarge", zoo::convnext_xlarge},
    {"DenseNet121", zoo::densenet121},
    {"DenseNet169", zoo::densenet169},
    {"DenseNet201", zoo::densenet201},
    {"EfficientNetB0", zoo::efficientnet_b0},
    {"EfficientNetB1", zoo::efficientnet_b1},
    {"EfficientNetB2", zoo::efficientnet_b2},
    {"EfficientNetB3", zoo::efficientnet_b3},
    {"EfficientNetB4", zoo::efficientnet_b4},
    {"EfficientNetB5", zoo::efficientnet_b5},
    {"EfficientNetB6", zoo::efficientnet_b6},
    {"EfficientNetB7", zoo::efficientnet_b7},
    {"EfficientNetV2B0", zoo::efficientnet_v2b0},
    {"EfficientNetV2B1", zoo::efficientnet_v2b1},
    {"EfficientNetV2B2", zoo::efficientnet_v2b2},
    {"EfficientNetV2B3", zoo::efficientnet_v2b3},
    {"EfficientNetV2L", zoo::efficientnet_v2l},
    {"EfficientNetV2M", zoo::efficientnet_v2m},
    {"EfficientNetV2S", zoo::efficientnet_v2s},
    {"InceptionResNetV2", zoo::inception_resnet_v2},
    {"InceptionV3", zoo::inception_v3},
    {"MobileNet", zoo::mobilenet},
    {"MobileNetV2", zoo::mobilenet_v2},
    {"MobileNetV3Large", zoo::mobilenet_v3_large},
    {"MobileNetV3Small", zoo::mobilenet_v3_small},
    {"NASNetLarge", zoo::nasnet_large},
    {"NASNetMobile", zoo::nasnet_mobile},
    {"ResNet101", zoo::resnet101},
    {"ResNet101V2", zoo::resnet101_v2},
    {"ResNet152", zoo::resnet152},
    {"ResNet152V2", zoo::resnet152_v2},
    {"ResNet50", zoo::resnet50},
    {"ResNet50V2", zoo::resnet50_v2},
    {"VGG16", zoo::vgg16},
    {"VGG19", zoo::vgg19},
    {"Xception", zoo::xception},
};

/// Parses the text that follows the colon in a model's name. "none", "avg" and "max" select a model without its top,
/// with this pooling of its features. A number selects a classifier with 10 logits, for images of this size.
inline zoo::ImageModelOptions application_options(const std::string& variant) {
  using zoo::FeaturePooling;
  if (variant.empty()) return {};
  if (variant == "none") return {.include_top = false};
  if (variant == "avg") return {.include_top = false, .pooling = FeaturePooling::avg};
  if (variant == "max") return {.include_top = false, .pooling = FeaturePooling::max};
  const std::int64_t side = std::stoi(variant);
  return {.input_shape = {side, side, 3}, .classes = 10, .classifier_activation = Activation::linear};
}

/// The model of keras.applications for a name such as "ResNet50" or "ResNet50:avg".
inline std::optional<Model> application_model(const std::string& name) {
  const std::size_t colon = name.find(':');
  const auto found = applications.find(name.substr(0, colon));
  if (found == applications.end()) return std::nullopt;
  return found->second(application_options(colon == std::string::npos ? "" : name.substr(colon + 1)));
}

}  // namespace lockstep
