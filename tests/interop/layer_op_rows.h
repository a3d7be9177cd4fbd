#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <lockstep/kernels/convolution/conv1d.h>
#include <lockstep/kernels/convolution/conv1d_transpose.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/convolution/conv2d_transpose.h>
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/crop_and_flip.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/normalization/group_norm.h>
#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/layer_call.h>
#include <lockstep/runtime/tensor/tensor.h>

// The rows of ops_driver for the ops that layers and losses use.

namespace lockstep::test {

using Inputs = std::vector<Tensor>;
using Call = std::function<Tensor(const Inputs&)>;
using Rows = std::map<std::string, Call>;

template <Tensor (*op)(const Tensor&, const Tensor&)>
Tensor of_two(const Inputs& x) {
  return op(x[0], x[1]);
}

inline void add_windows(Rows& rows) {
  rows["conv1d"] = [](const Inputs& x) {
    return conv1d(x[0], x[1], x[2], {.stride = 2, .padding = Padding1d::same, .groups = 2});
  };
  rows["conv1d_causal"] = [](const Inputs& x) {
    return conv1d(x[0], x[1], x[2], {.padding = Padding1d::causal, .dilation = 2});
  };
  rows["conv2d"] = [](const Inputs& x) { return conv2d(x[0], x[1], x[2], {.strides = {2, 1}, .groups = 2}); };
  rows["conv2d_same"] = [](const Inputs& x) {
    return conv2d(x[0], x[1], x[2], {.padding = Padding::same, .dilation = {2, 3}, .activation = Activation::relu});
  };
  rows["depthwise_conv2d"] = [](const Inputs& x) {
    return depthwise_conv2d(x[0], x[1], x[2], {.strides = 2, .padding = Padding::same});
  };
  rows["conv1d_transpose"] = [](const Inputs& x) {
    return conv1d_transpose(x[0], x[1], x[2], {.stride = 3, .padding = Padding::same, .output_padding = 1});
  };
  rows["conv2d_transpose"] = [](const Inputs& x) { return conv2d_transpose(x[0], x[1], x[2], {.strides = {2, 3}}); };
  rows["conv2d_transpose_same"] = [](const Inputs& x) {
    return conv2d_transpose(x[0], x[1], x[2], {.strides = 2, .padding = Padding::same, .output_padding = 1});
  };
  rows["conv2d_transpose_dilated"] = [](const Inputs& x) {
    return conv2d_transpose(x[0], x[1], x[2], {.padding = Padding::same, .dilation = {2, 3}});
  };
  for (const auto& [name, padding] : {std::pair("valid", Padding::valid), std::pair("same", Padding::same)}) {
    const Pool2dOptions options{.window = {3, 2}, .strides = Size2d{2, 1}, .padding = padding};
    rows[fmt::format("max_pool2d_{}", name)] = [=](const Inputs& x) { return max_pool2d(x[0], options); };
    rows[fmt::format("average_pool2d_{}", name)] = [=](const Inputs& x) { return average_pool2d(x[0], options); };
  }
}

/// The layer, called with the mask x[1].
inline Tensor masked_softmax(const Inputs& x, const std::vector<int>& axis) {
  const Softmax layer({.axis = axis});
  return layer.impl().call(std::span(x).first(1), {.masks = std::span(x).subspan(1)});
}

inline void add_normalizations(Rows& rows) {
  rows["batch_norm"] = [](const Inputs& x) { return batch_norm(x[0], x[1], x[2]).y; };
  rows["batch_norm_mean"] = [](const Inputs& x) { return batch_norm(x[0], x[1], x[2]).mean; };
  rows["batch_norm_variance"] = [](const Inputs& x) { return batch_norm(x[0], x[1], x[2]).variance; };
  rows["batch_norm_residual"] = [](const Inputs& x) {
    return batch_norm(x[0], x[1], x[2], {.relu = true, .residual = x[3]}).y;
  };
  rows["batch_norm_inference"] = [](const Inputs& x) { return batch_norm_inference(x[0], x[1], x[2], x[3], x[4]); };
  rows["layer_norm"] = [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); };
  rows["group_norm"] = [](const Inputs& x) { return group_norm(x[0], 2, x[1], x[2]); };
  rows["softmax_masked"] = [](const Inputs& x) { return masked_softmax(x, {-1}); };
  rows["softmax_masked_over_axes"] = [](const Inputs& x) { return masked_softmax(x, {1, 2}); };
}

inline void add_losses(Rows& rows) {
  rows["sparse_softmax_cross_entropy"] = of_two<sparse_softmax_cross_entropy>;
  rows["sigmoid_cross_entropy"] = of_two<sigmoid_cross_entropy>;
  rows["binary_cross_entropy"] = of_two<binary_cross_entropy>;
}

inline void add_recurrences(Rows& rows) {
  rows["lstm"] = [](const Inputs& x) { return lstm(x[0], x[1], x[2], x[3]); };
  rows["lstm_sequences"] = [](const Inputs& x) { return lstm(x[0], x[1], x[2], x[3], true); };
  rows["lstm_states"] = [](const Inputs& x) {
    return lstm(x[0], x[1], x[2], x[3], RecurrentStates{.h = x[4], .c = x[5]}, false).h;
  };
  rows["gru"] = [](const Inputs& x) { return gru(x[0], x[1], x[2], x[3]); };
  rows["gru_sequences"] = [](const Inputs& x) { return gru(x[0], x[1], x[2], x[3], true); };
  rows["gru_states"] = [](const Inputs& x) { return gru(x[0], x[1], x[2], x[3], RecurrentStates{.h = x[4]}, false).h; };
  rows["simple_rnn"] = [](const Inputs& x) { return simple_rnn(x[0], x[1], x[2], x[3], {}).h; };
  rows["simple_rnn_sequences"] = [](const Inputs& x) {
    return simple_rnn(x[0], x[1], x[2], x[3], {.return_sequences = true}).h;
  };
  rows["simple_rnn_states"] = [](const Inputs& x) { return simple_rnn(x[0], x[1], x[2], x[3], {}, {}, {.h = x[4]}).h; };
}

inline Call resize_to(const Size2d& size, const ResizeOptions& options) {
  return [=](const Inputs& x) { return resize(x[0], size, options); };
}

inline void add_images(Rows& rows) {
  const std::map<std::string, Interpolation> methods{{"nearest", Interpolation::nearest},
                                                     {"bilinear", Interpolation::bilinear},
                                                     {"bicubic", Interpolation::bicubic},
                                                     {"lanczos3", Interpolation::lanczos3},
                                                     {"lanczos5", Interpolation::lanczos5}};
  for (const auto& [name, method] : methods) {
    rows["resize_" + name] = resize_to({11, 4}, {.interpolation = method});
    if (method == Interpolation::nearest) continue;
    rows["resize_antialiased_" + name] = resize_to({3, 4}, {.interpolation = method, .antialias = true});
  }
  rows["resize_cropped"] = resize_to({8, 5}, {.crop_to_aspect_ratio = true});
  rows["resize_padded"] = resize_to({8, 5}, {.pad_to_aspect_ratio = true, .fill_value = 0.5});
  const std::map<std::string, FillMode> fills{{"nearest", FillMode::nearest},
                                              {"constant", FillMode::constant},
                                              {"reflect", FillMode::reflect},
                                              {"wrap", FillMode::wrap}};
  for (const auto& [name, fill] : fills) {
    const AffineTransformOptions options{.fill_mode = fill, .fill_value = 0.25};
    rows["affine_transform_" + name] = [=](const Inputs& x) { return affine_transform(x[0], x[1], options); };
    const CropOptions crop{.size = {4, 6}, .fill_mode = fill, .fill_value = 0.25};
    rows["crop_and_flip_" + name] = [=](const Inputs& x) { return crop_and_flip(x[0], x[1], crop); };
  }
  rows["crop_and_flip_inside"] = [](const Inputs& x) { return crop_and_flip(x[0], x[1], {.size = {5, 4}}); };
  rows["affine_transform_of_nearest"] = [](const Inputs& x) {
    return affine_transform(x[0], x[1], {.interpolation = Interpolation::nearest, .fill_mode = FillMode::wrap});
  };
}

}  // namespace lockstep::test
