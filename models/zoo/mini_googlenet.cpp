#include "lockstep/models/zoo/mini_googlenet.h"

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/zoo/image_model.h>

namespace lockstep::zoo {
namespace {

/// The three modules in figure 3 of the paper's appendix.
class Modules {
 public:
  explicit Modules(double batch_norm_momentum) : momentum_(batch_norm_momentum) {}

  Symbol conv(const Symbol& x, std::int64_t filters, Size2d kernel, Size2d strides = {1, 1},
              Padding padding = Padding::same) const {
    Symbol y = Conv2D({.filters = filters, .kernel_size = kernel, .strides = strides, .padding = padding})(x);
    y = BatchNormalization({.momentum = momentum_})(y);
    return ActivationLayer(Activation::relu)(y);
  }

  Symbol inception(const Symbol& x, std::int64_t filters_1x1, std::int64_t filters_3x3) const {
    const Symbol narrow = conv(x, filters_1x1, {1, 1});
    const Symbol wide = conv(x, filters_3x3, {3, 3});
    return Concatenate()({narrow, wide});
  }

  Symbol downsample(const Symbol& x, std::int64_t filters) const {
    const Symbol convolved = conv(x, filters, {3, 3}, {2, 2}, Padding::valid);
    const Symbol pooled = MaxPooling2D({.pool_size = {3, 3}, .strides = Size2d{2, 2}})(x);
    return Concatenate()({convolved, pooled});
  }

 private:
  double momentum_;
};

}  // namespace

Model mini_googlenet(const Shape& input, int classes, const MiniGoogLeNetOptions& options) {
  detail::check_images("mini_googlenet", input, 31);
  const Modules net(options.batch_norm_momentum);
  const Symbol images = Input(input);
  Symbol x = net.conv(images, 96, {3, 3});
  x = net.inception(x, 32, 32);
  x = net.inception(x, 32, 48);
  x = net.downsample(x, 80);
  x = net.inception(x, 112, 48);
  x = net.inception(x, 96, 64);
  x = net.inception(x, 80, 80);
  x = net.inception(x, 48, 96);
  x = net.downsample(x, 96);
  x = net.inception(x, 176, 160);
  x = net.inception(x, 176, 160);
  x = AveragePooling2D({.pool_size = {7, 7}})(x);
  x = Dropout({.rate = options.dropout})(x);
  x = Flatten()(x);
  const Symbol logits = with_dtype_policy(DTypePolicy::float32, [&] { return Dense({.units = classes})(x); });
  return {images, logits, {.name = "minigooglenet", .seed = options.seed}};
}

}  // namespace lockstep::zoo
