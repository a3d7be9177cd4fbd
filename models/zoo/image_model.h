#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/training/model.h>
#include <lockstep/models/zoo/image_model_options.h>

// Shared by the models that take images.

namespace lockstep::zoo::detail {

/// The height or width of an input for images of any size.
inline constexpr std::int64_t any_side = -1;

/// Throws InvalidArgument, which names `model`, unless `shape` is the (height, width, channels) of images of at least
/// smallest_side x smallest_side. Either side may be any_side.
void check_images(std::string_view model, const Shape& shape, std::int64_t smallest_side);

/// The input of `model`. Its shape is options.input_shape; if that is empty, (side, side, 3) with the top and (-1, -1,
/// 3) without it. With `side` = any_side, the model takes images of any size even with its top. Throws InvalidArgument,
/// which names `model`, for options that the model does not take, such as images smaller than smallest_side x
/// smallest_side.
Symbol image_input(std::string_view model, const ImageModelOptions& options, std::int64_t side,
                   std::int64_t smallest_side = 32);

/// The model from `images` to `output`, with the weights of the options' file. `name` is used if the options give none.
Model image_model(const Symbol& images, const Symbol& output, const ImageModelOptions& options, std::string_view name);

/// The images' height as Keras writes it into a model's name: "224" or, for images of any size, "None".
std::string rows_in_name(const Symbol& images);

/// A ReLU activation layer.
Symbol relu(const Symbol& x, const std::string& name = {});

/// The classifier, a Dense layer of f32 from features (c) to the classes. `dense`: options other than units and
/// activation; its default name is "predictions".
Symbol predictions(const Symbol& features, const ImageModelOptions& options, DenseOptions dense = {});

/// Whether the pooling layers of a model have names, "avg_pool" and "max_pool".
enum class PoolingNames : std::uint8_t { none, named };
/// The mean of each channel, which the classifier reads.
Symbol average_pool(const Symbol& x, PoolingNames names = PoolingNames::named);
/// The result of a model without its top.
Symbol pooled_features(const Symbol& x, const ImageModelOptions& options, PoolingNames names);
/// The output of a model: with the top, predictions of average_pool(x, names_in_top); without it, pooled_features with
/// `names`.
Symbol top_or_features(const Symbol& x, const ImageModelOptions& options, PoolingNames names,
                       PoolingNames names_in_top = PoolingNames::named);

/// Keras' correct_pad: zero borders with which an unpadded convolution of stride 2 samples the same pixels as one with
/// padding "same". Unknown sizes count as even. As in Keras, the width counts as even, too, if the height is unknown.
Borders2d correct_pad(const Symbol& x, std::int64_t kernel_size);

/// The multiple of 8 nearest to `filters`, at least 8.
std::int64_t multiple_of_8(double filters);
/// multiple_of_8(filters) or, if this number is below 90 % of `filters`, the next multiple of 8.
std::int64_t divisible_by_8(double filters);

}  // namespace lockstep::zoo::detail
