#include <algorithm>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/operation_call.h>
#include <lockstep/models/layers/option_names.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Call = OperationCall;
using Results = std::vector<Tensor>;

void check_channels_last(const Call& call) {
  if (call.value("data_format") == "channels_first") call.refuse("takes images with their channels last");
}

/// The first input as images; sequences become images of one row.
Tensor images_of(const Call& call) {
  check_channels_last(call);
  const Tensor& x = call.x[0];
  if (!call.is_input(0) || x.rank() < 3 || x.rank() > 4)
    call.refuse("takes images (batch, height, width, channels) or sequences (batch, steps, channels)");
  return x.rank() == 3 ? as_images(x) : x;
}
/// The result for images_of() in the form of the first input.
Results like_input(const Call& call, const Tensor& y) { return {call.x[0].rank() == 3 ? squeeze(y, {1}) : y}; }

/// An option with a size for each axis of the images or sequences, or with one for all; `otherwise` if it is left out.
Size2d window_size(const Call& call, const char* key, Size2d otherwise = 1) {
  const Json& given = call.value(key);
  if (given.is_null()) return otherwise;
  const auto sizes = call.whole_list<std::int64_t>(key, given);
  const auto axes = static_cast<std::size_t>(call.x[0].rank()) - 2;
  if (sizes.size() != 1 && sizes.size() != axes)
    call.refuse("has one number or a number for each axis of its windows as its " + std::string(key));
  return axes == 1 ? Size2d(1, sizes[0]) : Size2d(sizes.front(), sizes.back());
}

Padding window_padding(const Call& call) { return call.choice("padding", Padding::valid, padding_names); }

/// A constant kernel; that of sequences becomes one of images of one row.
Tensor kernel_at(const Call& call, std::size_t argument) {
  if (call.is_input(argument)) call.refuse("takes constants as kernels, which belong to no example; use a layer");
  const Tensor kernel = cast(call.operand(argument), DType::f32);
  if (kernel.rank() != call.x[0].rank() || std::ranges::any_of(kernel.shape(), [](auto size) { return size < 1; }))
    call.refuse("takes kernels with as many axes as its input");
  return kernel.rank() == 3 ? expand_dims(kernel, 0) : kernel;
}

template <Tensor (*op)(const Tensor&, const Pool2dOptions&)>
Results pooled_by(const Call& call) {
  const Tensor images = images_of(call);
  Pool2dOptions options{.window = window_size(call, "pool_size", 0), .padding = window_padding(call)};
  options.strides = window_size(call, "strides", options.window);
  return like_input(call, op(images, options));
}

Conv2dOptions convolution_of(const Call& call) {
  return {.strides = window_size(call, "strides"),
          .padding = window_padding(call),
          .dilation = window_size(call, "dilation_rate")};
}
Results convolved(const Call& call) {
  const Tensor images = images_of(call);
  const Tensor kernel = kernel_at(call, 1);
  Conv2dOptions options = convolution_of(call);
  options.groups = std::max<std::int64_t>(1, images.dim(3) / kernel.dim(2));
  return like_input(call, conv2d(images, kernel, {}, options));
}
Results convolved_by_channel(const Call& call) {
  const Tensor images = images_of(call);
  return like_input(call, depthwise_conv2d(images, kernel_at(call, 1), {}, convolution_of(call)));
}
Results convolved_in_two_steps(const Call& call) {
  const Tensor images = images_of(call);
  const Tensor by_channel = depthwise_conv2d(images, kernel_at(call, 1), {}, convolution_of(call));
  const Tensor pointwise = kernel_at(call, 2);
  if (pointwise.dim(0) != 1 || pointwise.dim(1) != 1) call.refuse("takes pointwise kernels of one pixel, 1 x 1");
  return like_input(call, conv2d(by_channel, pointwise, {}));
}

/// Throws InvalidArgument unless the call has images, the channels last.
void check_images(const Call& call) {
  check_channels_last(call);
  if (!call.is_input(0) || call.x[0].rank() != 4) call.refuse("takes images (batch, height, width, channels)");
}

Interpolation interpolation_of(const Call& call) {
  return call.choice("interpolation", Interpolation::bilinear, interpolation_names);
}

Results resized(const Call& call) {
  check_images(call);
  if (call.choice("fill_mode", FillMode::constant, fill_mode_names) != FillMode::constant)
    call.refuse("needs the fill_mode constant");
  return {resize(call.x[0], window_size(call, "size", 0),
                 {.interpolation = interpolation_of(call),
                  .antialias = call.flag("antialias"),
                  .crop_to_aspect_ratio = call.flag("crop_to_aspect_ratio"),
                  .pad_to_aspect_ratio = call.flag("pad_to_aspect_ratio"),
                  .fill_value = call.number("fill_value", 0)})};
}

/// By a transform for each image, or by a constant one for all.
Results transformed(const Call& call) {
  check_images(call);
  Tensor transforms = cast(call.operand(1), DType::f32);
  if (!call.is_input(1)) {
    if (transforms.shape() != Shape{8}) call.refuse("takes 8 numbers as the transform of all images");
    transforms = broadcast_to(expand_dims(transforms, 0), {call.x[0].dim(0), 8});
  }
  return {affine_transform(call.x[0], transforms,
                           {.interpolation = interpolation_of(call),
                            .fill_mode = call.choice("fill_mode", FillMode::constant, fill_mode_names),
                            .fill_value = call.number("fill_value", 0)})};
}

constexpr OperationRow image_rows[] = {
    {"AffineTransform", "image", transformed, 2},
    {"AveragePool", "nn", pooled_by<average_pool2d>},
    {"Conv", "nn", convolved, 2},
    {"DepthwiseConv", "nn", convolved_by_channel, 2},
    {"MaxPool", "nn", pooled_by<max_pool2d>},
    {"Resize", "image", resized},
    {"SeparableConv", "nn", convolved_in_two_steps, 3},
};

}  // namespace

std::span<const OperationRow> image_operation_rows() { return image_rows; }

}  // namespace lockstep
