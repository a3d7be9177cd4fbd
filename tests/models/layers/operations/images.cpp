#include <models/layers/operations/operation_case.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/convolution/conv1d.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/pooling/pool2d.h>

namespace lockstep::test {
namespace {

/// Images of 3 x 4 pixels with 2 channels.
Tensor pictures() { return reshape(concatenate(Tensors{mixed(), others()}, 2), {2, 3, 4, 2}); }

/// A call with this constant as its second argument.
std::string with_constant(const std::string& constant) { return R"([{"tensor": 0}, )" + constant + "]"; }

const char* const kernel_of_two_steps =
    "[[[0.5, 1], [-1, 0.25], [2, 0], [0.75, -0.5]], [[0, 1], [1.5, -0.25], [1, 1], [-2, 0.5]]]";
Tensor of_two_steps() {
  return Tensor::from<float>({0.5, 1, -1, 0.25, 2, 0, 0.75, -0.5, 0, 1, 1.5, -0.25, 1, 1, -2, 0.5}, {2, 4, 2});
}

const char* const kernel_of_two_columns = "[[[[0.5, 1], [-1, 0.25]], [[2, 0], [0.75, -0.5]]]]";
Tensor of_two_columns() { return Tensor::from<float>({0.5, 1, -1, 0.25, 2, 0, 0.75, -0.5}, {1, 2, 2, 2}); }

Tensor in_rows(const Tensor& x) { return expand_dims(x, 1); }

Cases convolutions() {
  return {{"Conv",
           {pictures},
           [](const Tensors& x) {
             return Tensors{conv2d(x[0], of_two_columns(), {}, {.strides = {1, 2}, .padding = Padding::same})};
           },
           R"({"strides": [1, 2], "padding": "same", "data_format": "channels_last", "dilation_rate": 1})",
           with_constant(kernel_of_two_columns)},
          {"Conv of sequences",
           {mixed},
           [](const Tensors& x) { return Tensors{conv1d(x[0], of_two_steps(), {}, {.dilation = 2})}; },
           R"({"strides": 1, "padding": "valid", "data_format": null, "dilation_rate": [2]})",
           with_constant(kernel_of_two_steps)},
          {"Conv of groups",
           {pictures},
           [](const Tensors& x) {
             return Tensors{conv2d(x[0], Tensor::from<float>({0.5, 1, -1, 0.25}, {1, 2, 1, 2}), {}, {.groups = 2})};
           },
           "{}",
           with_constant("[[[[0.5, 1]], [[-1, 0.25]]]]")},
          {"DepthwiseConv",
           {pictures},
           [](const Tensors& x) { return Tensors{depthwise_conv2d(x[0], of_two_columns(), {}, {})}; },
           R"({"strides": 1, "padding": "valid", "data_format": null, "dilation_rate": 1})",
           with_constant(kernel_of_two_columns)},
          {"SeparableConv",
           {pictures},
           [](const Tensors& x) {
             const Tensor by_channel = depthwise_conv2d(x[0], of_two_columns(), {}, {.padding = Padding::same});
             return Tensors{conv2d(by_channel, Tensor::from<float>({1, -1, 0.5, 2}, {1, 1, 4, 1}), {})};
           },
           R"({"padding": "same"})",
           R"([{"tensor": 0}, )" + std::string(kernel_of_two_columns) + ", [[[[1.0], [-1], [0.5], [2]]]]]"}};
}

Cases of_windows_and_positions() {
  return {
      {"MaxPool",
       {pictures},
       [](const Tensors& x) {
         return Tensors{max_pool2d(x[0], {.window = {2, 3}, .strides = Size2d{1, 1}})};
       },
       R"({"pool_size": [2, 3], "strides": 1, "padding": "valid", "data_format": "channels_last"})"},
      {"AveragePool",
       {pictures},
       [](const Tensors& x) { return Tensors{average_pool2d(x[0], {.padding = Padding::same})}; },
       R"({"pool_size": 2, "strides": null, "padding": "same"})"},
      {"AveragePool of sequences",
       {mixed},
       [](const Tensors& x) {
         return Tensors{squeeze(average_pool2d(in_rows(x[0]), {.window = {1, 2}, .strides = Size2d{1, 1}}), {1})};
       },
       R"({"pool_size": 2, "strides": [1]})"},
      {"Resize",
       {pictures},
       [](const Tensors& x) {
         return Tensors{resize(x[0], {5, 2}, {.interpolation = Interpolation::bicubic, .antialias = true})};
       },
       R"({"size": [5, 2], "interpolation": "bicubic", "antialias": true, "crop_to_aspect_ratio": false,
           "pad_to_aspect_ratio": false, "fill_mode": "constant", "fill_value": 0.0, "data_format": "channels_last"})"},
      {"Resize with borders",
       {pictures},
       [](const Tensors& x) {
         return Tensors{resize(x[0], {4, 4}, {.pad_to_aspect_ratio = true, .fill_value = 0.5})};
       },
       R"({"size": [4, 4], "pad_to_aspect_ratio": true, "fill_value": 0.5})"},
      {"AffineTransform",
       {pictures},
       [](const Tensors& x) {
         const Tensor one = Tensor::from<float>({1, 0.25, -0.5, 0.125, 0.75, 0.25, 0, 0}, {1, 8});
         return Tensors{affine_transform(x[0], broadcast_to(one, {2, 8}),
                                         {.interpolation = Interpolation::nearest, .fill_mode = FillMode::reflect})};
       },
       R"({"interpolation": "nearest", "fill_mode": "reflect", "fill_value": 0, "data_format": "channels_last"})",
       with_constant("[1, 0.25, -0.5, 0.125, 0.75, 0.25, 0, 0]")},
      {"AffineTransform of each image",
       {pictures,
        [] {
          return reshape(slice(mixed(), 1, 0, 2), {2, 8});
        }},
       [](const Tensors& x) { return Tensors{affine_transform(x[0], x[1])}; },
       R"({"fill_value": 0})"}};
}

}  // namespace

Cases image_cases() { return joined({convolutions(), of_windows_and_positions()}); }

}  // namespace lockstep::test
