#include "lockstep/models/zoo/vgg.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/vgg16.py and vgg19.py layer by layer.

namespace lockstep::zoo {
namespace {

/// `convolutions`: their number in each block.
Model vgg(std::string_view name, const std::array<int, 5>& convolutions, const ImageModelOptions& options) {
  const Symbol images = detail::image_input(name, options, 224);
  Symbol x = images;
  std::int64_t filters = 64;
  for (int block = 1; block <= 5; ++block) {
    for (int number = 1; number <= convolutions[static_cast<std::size_t>(block - 1)]; ++number)
      x = Conv2D({.filters = filters,
                  .kernel_size = 3,
                  .padding = Padding::same,
                  .activation = Activation::relu,
                  .name = fmt::format("block{}_conv{}", block, number)})(x);
    x = MaxPooling2D({.strides = 2, .name = fmt::format("block{}_pool", block)})(x);
    filters = std::min<std::int64_t>(512, 2 * filters);
  }
  if (options.include_top) {
    x = Flatten("flatten")(x);
    for (const char* hidden : {"fc1", "fc2"})
      x = Dense({.units = 4096, .activation = Activation::relu, .name = hidden})(x);
    x = detail::predictions(x, options);
  } else {
    x = detail::pooled_features(x, options, detail::PoolingNames::none);
  }
  return detail::image_model(images, x, options, name);
}

}  // namespace

Model vgg16(const ImageModelOptions& options) { return vgg("vgg16", {2, 2, 3, 3, 3}, options); }
Model vgg19(const ImageModelOptions& options) { return vgg("vgg19", {2, 2, 4, 4, 4}, options); }

}  // namespace lockstep::zoo
