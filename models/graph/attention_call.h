#pragma once

#include <optional>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/attention.h>

namespace lockstep {

/// The arguments of a call of an attention layer besides query and value.
struct AttentionCall {
  std::optional<Symbol> key{};  ///< by default, the value
  /// 0 for each pair of a query and a key where the query must not attend to the key; any other number allows it. The
  /// shape, without the batch axis, is (queries, keys) or (heads, queries, keys). For inputs with more axes, it is
  /// (other axes, heads, attention axes of the query, attention axes of the key). A mask may lack the heads' axis; it
  /// may then also lack some or all of the other axes, from the last one backwards. Missing axes and axes of size 1 are
  /// broadcast. Calls of Attention and AdditiveAttention with a mask throw InvalidArgument.
  std::optional<Symbol> attention_mask{};
  ///@{
  /// Masks (queries) or (keys), false or 0 for masked elements, in place of those that query, value and key carry; see
  /// CallMasks. Without a key, it has the value's mask. MultiHeadAttention and GroupQueryAttention read the carried
  /// masks that are not replaced; Attention and AdditiveAttention read none if one is given. Calls of
  /// MultiHeadAttention with a query_mask, which Keras ignores, and of Attention and AdditiveAttention with a key_mask
  /// throw InvalidArgument.
  std::optional<Symbol> query_mask{};
  std::optional<Symbol> value_mask{};
  std::optional<Symbol> key_mask{};
  ///@}
  bool use_causal_mask = false;  ///< query i attends to keys 0 to i only
};

}  // namespace lockstep
