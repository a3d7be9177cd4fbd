#pragma once

#include <optional>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/attention.h>

namespace lockstep {

/// The arguments of a call of MultiHeadAttention or GroupQueryAttention besides query and value.
struct AttentionCall {
  std::optional<Symbol> key{};  ///< by default, the value
  /// 0 where a query does not attend to a key, any other number where it does. The shape, without the batch axis, is
  /// (queries, keys) or (heads, queries, keys); sizes of 1 are broadcast.
  std::optional<Symbol> attention_mask{};
  bool use_causal_mask = false;  ///< query i attends to keys 0 to i only
};

}  // namespace lockstep
