#include "lockstep/models/zoo/image_model.h"

#include <algorithm>
#include <string>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::zoo::detail {
namespace {

std::string name_if(PoolingNames names, const char* name) { return names == PoolingNames::named ? name : ""; }

void check_weights(std::string_view model, const ImageModelOptions& options) {
  if (options.weights.empty()) return;
  require(options.weights != "imagenet", "{} downloads no weights: `weights` must be the path of a file, not imagenet",
          model);
  const Activation activation = options.classifier_activation;
  require(!options.include_top || activation == Activation::softmax || activation == Activation::linear,
          "{} with `weights` takes softmax or linear as its classifier_activation", model);
}

}  // namespace

void check_images(std::string_view model, const Shape& shape, std::int64_t smallest_side) {
  const auto fits = [&](std::int64_t size) { return size >= smallest_side || size == any_side; };
  require(shape.rank() == 3 && fits(shape[0]) && fits(shape[1]),
          "{0} takes images (height, width, channels) of at least {1} x {1}, got {2}", model, smallest_side, shape);
}

Symbol image_input(std::string_view model, const ImageModelOptions& options, std::int64_t side,
                   std::int64_t smallest_side) {
  require(!options.include_top || options.pooling == FeaturePooling::none,
          "{} pools its features only without its top: `pooling` needs include_top = false", model);
  check_weights(model, options);
  if (options.input_shape.rank() == 0)
    return Input(options.include_top ? Shape{side, side, 3} : Shape{any_side, any_side, 3});
  const Shape& shape = options.input_shape;
  const bool any = shape.rank() == 3 && (shape[0] == any_side || shape[1] == any_side);
  require(!any || side == any_side || !options.include_top,
          "{} takes images of any size (-1) only without its top, got {}", model, shape);
  check_images(model, shape, smallest_side);
  return Input(shape);
}

Model image_model(const Symbol& images, const Symbol& output, const ImageModelOptions& options, std::string_view name) {
  Model model(images, output, {.name = options.name.empty() ? std::string(name) : options.name, .seed = options.seed});
  if (!options.weights.empty()) model.load_weights(options.weights, {.ignore_extra = !options.include_top});
  return model;
}

std::string rows_in_name(const Symbol& images) {
  const std::int64_t rows = images.shape()[0];
  return rows == any_side ? "None" : std::to_string(rows);
}

Symbol relu(const Symbol& x, const std::string& name) { return ActivationLayer(Activation::relu, name)(x); }

Symbol predictions(const Symbol& features, const ImageModelOptions& options, DenseOptions dense) {
  dense.units = options.classes;
  dense.activation = options.classifier_activation;
  if (dense.name.empty()) dense.name = "predictions";
  return with_dtype_policy(DTypePolicy::float32, [&] { return Dense(dense)(features); });
}

Symbol average_pool(const Symbol& x, PoolingNames names) {
  return GlobalAveragePooling2D({.name = name_if(names, "avg_pool")})(x);
}

Symbol pooled_features(const Symbol& x, const ImageModelOptions& options, PoolingNames names) {
  switch (options.pooling) {
    case FeaturePooling::none:
      return x;
    case FeaturePooling::avg:
      return average_pool(x, names);
    case FeaturePooling::max:
      return GlobalMaxPooling2D({.name = name_if(names, "max_pool")})(x);
  }
  fail<BrokenInvariant>("no such pooling");
}

Symbol top_or_features(const Symbol& x, const ImageModelOptions& options, PoolingNames names,
                       PoolingNames names_in_top) {
  return options.include_top ? predictions(average_pool(x, names_in_top), options) : pooled_features(x, options, names);
}

Borders2d correct_pad(const Symbol& x, std::int64_t kernel_size) {
  const bool any_height = x.shape()[0] == any_side;  // Keras then counts the width as even, too
  const auto before = [&](std::int64_t side) {
    return kernel_size / 2 - (any_height || side == any_side ? 1 : 1 - side % 2);
  };
  return {before(x.shape()[0]), kernel_size / 2, before(x.shape()[1]), kernel_size / 2};
}

std::int64_t multiple_of_8(double filters) {
  return std::max<std::int64_t>(8, static_cast<std::int64_t>(filters + 4) / 8 * 8);
}

std::int64_t divisible_by_8(double filters) {
  const std::int64_t nearest = multiple_of_8(filters);
  return static_cast<double>(nearest) < 0.9 * filters ? nearest + 8 : nearest;
}

}  // namespace lockstep::zoo::detail
