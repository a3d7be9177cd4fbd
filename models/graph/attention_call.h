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
  bool use_causal_mask = false;  ///< query i attends to keys 0 to i only
};

}  // namespace lockstep
