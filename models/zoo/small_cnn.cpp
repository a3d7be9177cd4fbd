#include "lockstep/models/zoo/small_cnn.h"

#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/zoo/image_model.h>

namespace lockstep::zoo {

Model small_cnn(const Shape& input, int classes, const SmallCnnOptions& options) {
  detail::check_images("small_cnn", input, 10);
  const Symbol images = Input(input);
  Symbol x = images;
  for (const std::int64_t filters : {32, 64}) {
    x = Conv2D({.filters = filters, .kernel_size = {3, 3}, .activation = Activation::relu})(x);
    x = MaxPooling2D({.pool_size = {2, 2}})(x);
  }
  x = Flatten()(x);
  x = Dropout({.rate = options.dropout})(x);
  const Symbol logits = with_dtype_policy(DTypePolicy::float32, [&] { return Dense({.units = classes})(x); });
  return {images, logits, {.name = "small_cnn", .seed = options.seed}};
}

}  // namespace lockstep::zoo
