#include "lockstep/models/zoo/gpt.h"

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/zoo/transformer.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::zoo {

Model gpt(const GptOptions& options) {
  require(options.vocabulary >= 1 && options.context >= 1,
          "GPT takes a vocabulary and a context of at least one token, got {} and {}", options.vocabulary,
          options.context);
  const detail::Transformer transformer{.layers = options.layers,
                                        .width = options.width,
                                        .heads = options.heads,
                                        .dropout = options.dropout,
                                        .epsilon = 1e-5,
                                        .use_causal_mask = true,
                                        .remat = options.remat};
  detail::check_transformer("GPT", transformer);
  const Symbol ids = Input({-1});
  const Symbol tokens =
      Embedding({.input_dim = options.vocabulary, .output_dim = options.width, .name = "token_embedding"})(ids);
  Symbol x = Add()({tokens, detail::position_embedding(ids, options.context, options.width)});
  x = detail::transformer_blocks(Dropout({.rate = options.dropout})(x), transformer);
  const Dense head = with_dtype_policy(
      DTypePolicy::float32, [&] { return Dense({.units = options.vocabulary, .use_bias = false, .name = "logits"}); });
  return {ids, head(x), {.name = "gpt", .seed = options.seed}};
}

}  // namespace lockstep::zoo
