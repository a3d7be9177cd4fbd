#include "lockstep/models/zoo/unet.h"

#include <ranges>
#include <vector>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv_transpose.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::zoo {
namespace {

void check_input(const Shape& input, const UNetOptions& options) {
  constexpr std::int64_t most_levels = 16;
  require(options.levels >= 1 && options.levels <= most_levels && options.filters >= 1,
          "U-Net takes 1 to {} levels and at least one filter, got {} and {}", most_levels, options.levels,
          options.filters);
  const std::int64_t unit = std::int64_t{1} << options.levels;
  const auto fits = [&](std::int64_t side) { return side == -1 || (side >= 1 && side % unit == 0); };
  require(input.rank() == 3 && fits(input[0]) && fits(input[1]),
          "U-Net of {} levels takes images (height, width, channels) whose sides are multiples of {}, got {}",
          options.levels, unit, input);
}

/// Two convolutions, each normalized and with ReLU.
Symbol two_convolutions(const Symbol& x, std::int64_t filters, const UNetOptions& options) {
  Symbol y = x;
  for (int i = 0; i < 2; ++i) {
    y = Conv2D({.filters = filters, .kernel_size = {3, 3}, .padding = Padding::same, .use_bias = false})(y);
    y = BatchNormalization({.momentum = options.batch_norm_momentum, .synchronized = options.synchronized})(y);
    y = ActivationLayer(Activation::relu)(y);
  }
  return y;
}

}  // namespace

Model unet(const Shape& input, int classes, const UNetOptions& options) {
  check_input(input, options);
  const Symbol images = Input(input);
  std::vector<Symbol> skipped;
  std::int64_t filters = options.filters;
  Symbol x = two_convolutions(images, filters, options);
  for (std::int64_t level = 0; level < options.levels; ++level) {
    skipped.push_back(x);
    filters *= 2;
    x = two_convolutions(MaxPooling2D({.pool_size = {2, 2}})(x), filters, options);
  }
  for (const Symbol& skip : std::views::reverse(skipped)) {
    filters /= 2;
    x = Conv2DTranspose({.filters = filters, .kernel_size = {2, 2}, .strides = {2, 2}})(x);
    x = two_convolutions(Concatenate()({skip, x}), filters, options);
  }
  const Conv2D head = with_dtype_policy(DTypePolicy::float32, [&] {
    return Conv2D({.filters = classes, .kernel_size = {1, 1}, .name = "logits"});
  });
  return {images, head(x), {.name = "unet", .seed = options.seed}};
}

}  // namespace lockstep::zoo
