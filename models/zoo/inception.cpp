#include "lockstep/models/zoo/inception.h"

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/zoo/image_model.h>

namespace lockstep::zoo::detail {

Symbol inception_conv(const Symbol& x, const InceptionConv& conv, const std::string& name) {
  const auto suffixed = [&](const char* suffix) { return name.empty() ? name : name + suffix; };
  const Symbol y = Conv2D({.filters = conv.filters,
                           .kernel_size = conv.kernel_size,
                           .strides = conv.strides,
                           .padding = conv.padding,
                           .use_bias = false,
                           .name = name})(x);
  return relu(BatchNormalization({.scale = false, .name = suffixed("_bn")})(y), suffixed("_ac"));
}

Symbol inception_branch(const Symbol& x, const InceptionBranch& branch) {
  Symbol y = x;
  for (const InceptionConv& conv : branch) y = inception_conv(y, conv);
  return y;
}

Symbol halving_pool(const Symbol& x) { return MaxPooling2D({.pool_size = 3, .strides = 2})(x); }

Symbol pooling_branch(const Symbol& x, std::int64_t filters) {
  const Symbol mean = AveragePooling2D({.pool_size = 3, .strides = 1, .padding = Padding::same})(x);
  return inception_conv(mean, {filters, 1});
}

Symbol inception_stem(const Symbol& images) {
  Symbol x = inception_branch(images, {{32, 3, 2, Padding::valid}, {32, 3, 1, Padding::valid}, {64, 3}});
  x = inception_branch(halving_pool(x), {{80, 1, 1, Padding::valid}, {192, 3, 1, Padding::valid}});
  return halving_pool(x);
}

}  // namespace lockstep::zoo::detail
