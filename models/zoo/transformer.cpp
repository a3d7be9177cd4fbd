#include "lockstep/models/zoo/transformer.h"

#include <optional>

#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/remat_scope.h>
#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/graph/symbol_operators.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::zoo::detail {
namespace {

Symbol transformer_block(const Symbol& x, const Transformer& sizes) {
  std::optional<RematScope> recomputed;
  if (sizes.remat) recomputed.emplace();
  Symbol y = LayerNormalization({.epsilon = sizes.epsilon})(x);
  const MultiHeadAttention attention(
      {.num_heads = sizes.heads, .key_dim = sizes.width / sizes.heads, .dropout = sizes.dropout});
  y = attention(y, y, {.use_causal_mask = sizes.use_causal_mask});
  const Symbol attended = Add()({x, Dropout({.rate = sizes.dropout})(y)});
  y = LayerNormalization({.epsilon = sizes.epsilon})(attended);
  y = Dense({.units = 4 * sizes.width, .activation = Activation::gelu})(y);
  y = Dense({.units = sizes.width})(y);
  return Add()({attended, Dropout({.rate = sizes.dropout})(y)});
}

}  // namespace

void check_transformer(std::string_view model, const Transformer& sizes) {
  require(sizes.layers >= 1 && sizes.heads >= 1, "{} takes at least one layer and one head, got {} and {}", model,
          sizes.layers, sizes.heads);
  require(sizes.width >= 1 && sizes.width % sizes.heads == 0,
          "{} takes a width that is a multiple of its {} heads, got {}", model, sizes.heads, sizes.width);
}

Symbol position_embedding(const Symbol& steps, std::int64_t count, std::int64_t width) {
  const Symbol numbers = with_dtype_policy(DTypePolicy::float32, [&] {  // bfloat16 has no odd numbers above 256
    return operation("Cumsum", {operation("OnesLike", {steps})}, R"({"axis": 1})") - 1;
  });
  return Embedding({.input_dim = count, .output_dim = width, .name = "position_embedding"})(numbers);
}

Symbol transformer_blocks(const Symbol& x, const Transformer& sizes) {
  Symbol y = x;
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) y = transformer_block(y, sizes);
  return LayerNormalization({.epsilon = sizes.epsilon})(y);
}

}  // namespace lockstep::zoo::detail
