#pragma once

#include <cstdint>
#include <string_view>

#include <lockstep/models/graph/symbol.h>

// Shared by the models of transformer blocks.

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

/// Throws InvalidArgument naming `model` unless the sizes are at least 1 and `width` is a multiple of `heads`.
void check_transformer(std::string_view model, const Transformer& transformer);

/// Embeddings (steps, width) of the positions 0, 1, ... of at most `count` steps. The values of `steps`, (steps), are
/// ignored.
Symbol position_embedding(const Symbol& steps, std::int64_t count, std::int64_t width);

/// Pre-norm blocks, then a normalization: (steps, width) -> (steps, width). A block adds to its input an attention of
/// the normalized input, and to this sum a network of two dense layers, 4 * width units with gelu and width units, of
/// the normalized sum.
Symbol transformer_blocks(const Symbol& x, const Transformer& transformer);

}  // namespace lockstep::zoo::detail
