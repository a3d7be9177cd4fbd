#include "lockstep/models/zoo/nasnet.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>
#include <lockstep/runtime/core/error.h>

// Follows keras/src/applications/nasnet.py layer by layer. As there, activations and some other layers have no explicit
// names but are numbered in the order of their creation.

namespace lockstep::zoo {
namespace {

struct NASNet {
  std::string_view name;
  std::int64_t side;
  int blocks;  ///< number of normal cells between reductions
  std::int64_t stem_filters;
  std::int64_t filters;  ///< of the first normal cells
  bool skips_reduction;  ///< whether the cell after a reduction reads the reduction's input's predecessor
};

/// A cell's result and its input, which the next cell reads, too.
struct Cell {
  Symbol result;
  Symbol input;
};

Symbol nasnet_normalization(const Symbol& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.9997, .name = name})(x);
}

/// A convolution of 1 x 1.
Symbol nasnet_conv(const Symbol& x, const std::string& name, std::int64_t filters) {
  return Conv2D({.filters = filters,
                 .kernel_size = 1,
                 .padding = Padding::same,
                 .use_bias = false,
                 .kernel_initializer = he_normal,
                 .name = name})(x);
}

struct SeparableBlock {
  std::int64_t filters;
  std::int64_t kernel_size = 3;
  std::int64_t strides = 1;
};

/// Two separable convolutions, of which the first may halve the image.
Symbol separable_block(const Symbol& x, const std::string& name, const SeparableBlock& block) {
  const auto& [filters, kernel_size, strides] = block;
  Symbol y = detail::relu(x);
  if (strides == 2)
    y = ZeroPadding2D({.padding = detail::correct_pad(y, kernel_size), .name = "separable_conv_1_pad_" + name})(y);
  y = SeparableConv2D({.filters = filters,
                       .kernel_size = kernel_size,
                       .strides = strides,
                       .padding = strides == 2 ? Padding::valid : Padding::same,
                       .use_bias = false,
                       .name = "separable_conv_1_" + name})(y);
  y = detail::relu(nasnet_normalization(y, "separable_conv_1_bn_" + name));
  y = SeparableConv2D({.filters = filters,
                       .kernel_size = kernel_size,
                       .padding = Padding::same,
                       .use_bias = false,
                       .name = "separable_conv_2_" + name})(y);
  return nasnet_normalization(y, "separable_conv_2_bn_" + name);
}

/// Halves the image of `previous` by two paths, of which the second one begins one pixel later.
Symbol halved(const Symbol& previous, std::int64_t filters, const std::string& id) {
  const auto path = [&](const Symbol& x, int number) {
    const Symbol y =
        AveragePooling2D({.pool_size = 1, .strides = 2, .name = fmt::format("adjust_avg_pool_{}_{}", number, id)})(x);
    return nasnet_conv(y, fmt::format("adjust_conv_{}_{}", number, id), filters / 2);
  };
  const Symbol active = detail::relu(previous, "adjust_relu_1_" + id);
  const Symbol first = path(active, 1);
  const Symbol padded = ZeroPadding2D({.padding = {0, 1, 0, 1}})(active);
  const Symbol second = path(Cropping2D({.cropping = {1, 0, 1, 0}})(padded), 2);
  return nasnet_normalization(Concatenate()({first, second}), "adjust_bn_" + id);
}

/// `previous` with the image size and the channels that the cell of x needs.
Symbol adjusted(const std::optional<Symbol>& previous, const Symbol& x, std::int64_t filters, const std::string& id) {
  if (!previous) return x;
  if (previous->shape()[1] != x.shape()[1]) return halved(*previous, filters, id);
  if (previous->shape()[2] == filters) return *previous;
  const Symbol y = nasnet_conv(detail::relu(*previous), "adjust_conv_projection_" + id, filters);
  return nasnet_normalization(y, "adjust_bn_" + id);
}

Symbol neighborhood_mean(const Symbol& x, const std::string& name) {
  return AveragePooling2D({.pool_size = 3, .strides = 1, .padding = Padding::same, .name = name})(x);
}

Cell normal_cell(const Symbol& x, const std::optional<Symbol>& previous, std::int64_t filters, const std::string& id) {
  const auto named = [&](const char* name) { return name + ("_" + id); };
  const auto sum = [&](int number, const Symbol& a, const Symbol& b) {
    return Add(fmt::format("normal_add_{}_{}", number, id))({a, b});
  };
  const Symbol p = adjusted(previous, x, filters, id);
  const Symbol h =
      nasnet_normalization(nasnet_conv(detail::relu(x), named("normal_conv_1"), filters), named("normal_bn_1"));
  const Symbol left1 = separable_block(h, named("normal_left1"), {filters, 5});
  const Symbol x1 = sum(1, left1, separable_block(p, named("normal_right1"), {filters}));
  const Symbol left2 = separable_block(p, named("normal_left2"), {filters, 5});
  const Symbol x2 = sum(2, left2, separable_block(p, named("normal_right2"), {filters}));
  const Symbol x3 = sum(3, neighborhood_mean(h, named("normal_left3")), p);
  const Symbol left4 = neighborhood_mean(p, named("normal_left4"));
  const Symbol x4 = sum(4, left4, neighborhood_mean(p, named("normal_right4")));
  const Symbol x5 = sum(5, separable_block(h, named("normal_left5"), {filters}), h);
  return {Concatenate({.name = named("normal_concat")})({p, x1, x2, x3, x4, x5}), x};
}

/// Halves the image.
Cell reduction_cell(const Symbol& x, const std::optional<Symbol>& previous, std::int64_t filters,
                    const std::string& id) {
  const auto named = [&](const char* name) { return name + ("_" + id); };
  const Symbol p = adjusted(previous, x, filters, id);
  const Symbol h =
      nasnet_normalization(nasnet_conv(detail::relu(x), named("reduction_conv_1"), filters), named("reduction_bn_1"));
  const Symbol padded = ZeroPadding2D({.padding = detail::correct_pad(h, 3), .name = named("reduction_pad_1")})(h);
  const auto pooling = [&](const char* name) {
    return Pooling2DOptions{.pool_size = 3, .strides = 2, .name = named(name)};
  };
  const Symbol left1 = separable_block(h, named("reduction_left1"), {filters, 5, 2});
  const Symbol right1 = separable_block(p, named("reduction_right1"), {filters, 7, 2});
  const Symbol x1 = Add(named("reduction_add_1"))({left1, right1});
  const Symbol left2 = MaxPooling2D(pooling("reduction_left2"))(padded);
  const Symbol right2 = separable_block(p, named("reduction_right2"), {filters, 7, 2});
  const Symbol x2 = Add(named("reduction_add_2"))({left2, right2});
  const Symbol left3 = AveragePooling2D(pooling("reduction_left3"))(padded);
  const Symbol right3 = separable_block(p, named("reduction_right3"), {filters, 5, 2});
  const Symbol x3 = Add(named("reduction_add3"))({left3, right3});
  const Symbol x4 = Add()({x2, neighborhood_mean(x1, named("reduction_left4"))});
  const Symbol left5 = separable_block(x1, named("reduction_left4"), {filters});
  const Symbol right5 = MaxPooling2D(pooling("reduction_right5"))(padded);
  const Symbol x5 = Add(named("reduction_add4"))({left5, right5});
  return {Concatenate({.name = named("reduction_concat")})({x2, x3, x4, x5}), x};
}

Model nasnet(const NASNet& model, ImageModelOptions options) {
  if (options.input_shape.rank() == 0) options.input_shape = {model.side, model.side, 3};
  const Symbol images = detail::image_input(model.name, options, model.side);
  require(images.shape()[0] != detail::any_side && images.shape()[1] != detail::any_side,
          "{} takes images of one size, got {}: which of its cells halve an image depends on the size", model.name,
          images.shape());
  Symbol x = Conv2D({.filters = model.stem_filters,
                     .kernel_size = 3,
                     .strides = 2,
                     .use_bias = false,
                     .kernel_initializer = he_normal,
                     .name = "stem_conv1"})(images);
  x = nasnet_normalization(x, "stem_bn1");
  Cell cell = reduction_cell(x, std::nullopt, model.filters / 4, "stem_1");
  cell = reduction_cell(cell.result, cell.input, model.filters / 2, "stem_2");
  for (int stage = 0; stage < 3; ++stage) {
    const std::int64_t filters = model.filters << stage;
    if (stage > 0) {
      const Cell reduced =
          reduction_cell(cell.result, cell.input, filters, fmt::format("reduce_{}", stage * model.blocks));
      cell = {reduced.result, model.skips_reduction ? cell.input : reduced.input};
    }
    for (int block = 0; block < model.blocks; ++block)
      cell = normal_cell(cell.result, cell.input, filters,
                         std::to_string(stage * model.blocks + block + (stage > 0 ? 1 : 0)));
  }
  x = detail::relu(cell.result);
  x = detail::top_or_features(x, options, detail::PoolingNames::none, detail::PoolingNames::none);
  return detail::image_model(images, x, options, model.name);
}

}  // namespace

Model nasnet_mobile(const ImageModelOptions& options) {
  return nasnet({"nasnet_mobile", 224, 4, 32, 1056 / 24, false}, options);
}

Model nasnet_large(const ImageModelOptions& options) {
  return nasnet({"nasnet_large", 331, 6, 96, 4032 / 24, true}, options);
}

}  // namespace lockstep::zoo
