#pragma once

#include <optional>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/attention.h>

namespace lockstep {

/// The arguments of a call of a layer of attention besides query and value.
struct AttentionCall {
  std::optional<Symbol> key{};  ///< by default, the value
  /// 0 where a query does not attend to a key, any other number where it does. The shape, without the batch axis, is
  /// (queries, keys) or (heads, queries, keys) or, for inputs with more axes, (other axes, heads, attention axes of the
  /// query, attention axes of the key), in which the heads and the last of the other axes may be missing. Sizes of 1
  /// are broadcast. Attention and AdditiveAttention take no such mask.
  std::optional<Symbol> attention_mask{};
  bool use_causal_mask = false;  ///< query i attends to keys 0 to i only
};

}  // namespace lockstep
