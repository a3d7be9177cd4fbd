#include "lockstep/models/zoo/vit.h"

#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/transformer.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::zoo {

Model vit(const Shape& input, int classes, const VitOptions& options) {
  const std::int64_t patch = options.patch_size;
  require(patch >= 1, "ViT takes patches of at least one pixel, got a patch_size of {}", patch);
  require(input.rank() == 3 && input[0] >= 1 && input[1] >= 1 && input[0] % patch == 0 && input[1] % patch == 0,
          "ViT takes images (height, width, channels) whose sides are multiples of its patches' {}, got {}", patch,
          input);
  const detail::Transformer transformer{.layers = options.layers,
                                        .width = options.width,
                                        .heads = options.heads,
                                        .dropout = options.dropout,
                                        .epsilon = 1e-6,
                                        .use_causal_mask = false,
                                        .remat = options.remat};
  detail::check_transformer("ViT", transformer);
  const std::int64_t patches = (input[0] / patch) * (input[1] / patch);
  const Symbol images = Input(input);
  const Conv2D projection(
      {.filters = options.width, .kernel_size = {patch, patch}, .strides = {patch, patch}, .name = "patch_embedding"});
  const Symbol embedded = Reshape({.target_shape = {patches, options.width}})(projection(images));
  // One number for each patch; position_embedding uses only how many there are.
  const Symbol first_pixels = with_dtype_policy(DTypePolicy::float32, [&] {
    const Symbol pixels = Reshape({.target_shape = {patches, patch * patch * input[2]}})(images);
    return Reshape({.target_shape = {patches}})(slice(pixels, 2, 0, 1));
  });
  Symbol x = Add()({embedded, detail::position_embedding(first_pixels, patches, options.width)});
  x = detail::transformer_blocks(Dropout({.rate = options.dropout})(x), transformer);
  x = GlobalAveragePooling1D()(x);
  const Dense head =
      with_dtype_policy(DTypePolicy::float32, [&] { return Dense({.units = classes, .name = "logits"}); });
  return {images, head(x), {.name = "vit", .seed = options.seed}};
}

}  // namespace lockstep::zoo
