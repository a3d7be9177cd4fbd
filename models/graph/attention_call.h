#pragma once

#include <optional>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/attention.h>

namespace lockstep {

/// Further arguments of a call of MultiHeadAttention or GroupQueryAttention.
struct AttentionCall {
  std::optional<Symbol> key{};  ///< without it, the value is also the key
  /// 0 where a query does not attend to a key: (queries, keys) or (heads, queries, keys), where sizes of 1 are
  /// broadcast.
  std::optional<Symbol> attention_mask{};
  bool use_causal_mask = false;  ///< query i attends to keys 0 to i only
};

}  // namespace lockstep
