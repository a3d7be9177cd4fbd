#pragma once

#include <cstdint>
#include <string_view>

#include <lockstep/models/graph/symbol.h>

// Shared by the models that consist of transformer blocks.

namespace lockstep::zoo::detail {

/// The sizes of a stack of transformer blocks.
struct Transformer {
  std::int64_t layers;  ///< number of blocks
  std::int64_t width;   ///< features of each step
  std::int64_t heads;   ///< attention heads of width / heads features
  double dropout;       ///< dropout rate of attention weights and of each branch's result
  double epsilon;       ///< epsilon of the normalizations
  bool use_causal_mask;
  bool remat;  ///< each block is a RematScope
};

/// Throws InvalidArgument, which names `model`, unless the sizes are at least 1 and `width` is a multiple of `heads`.
void check_transformer(std::string_view model, const Transformer& transformer);

/// The embeddings (time, width) of the positions 0 to time - 1. `steps` is (time), with time <= count; its values are
/// ignored.
Symbol position_embedding(const Symbol& steps, std::int64_t count, std::int64_t width);

/// Pre-norm blocks, then a normalization: (steps, width) -> (steps, width). A block computes h = x +
/// dropout(attention(norm(x))) and then h + dropout(dense(gelu(dense(norm(h))))), where the dense layers have 4 * width
/// and width units.
Symbol transformer_blocks(const Symbol& x, const Transformer& transformer);

}  // namespace lockstep::zoo::detail
