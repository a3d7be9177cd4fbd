#include "lockstep/models/graph/attention_call.h"

#include <vector>

namespace lockstep {
namespace {

Symbol call_attention(const Layer& layer, const Symbol& query, const Symbol& value, const AttentionCall& call) {
  require(!call.key_mask || is_multi_head_attention(layer.impl().class_name()),
          "a call of {} takes no key_mask: it masks keys by the value_mask", layer.impl().class_name());
  std::vector<Symbol> inputs{query, value};
  if (call.key || call.attention_mask || call.key_mask) inputs.push_back(call.key.value_or(value));
  if (call.attention_mask) inputs.push_back(*call.attention_mask);
  CallMasks masks;
  if (call.query_mask || call.value_mask || call.key_mask) masks = {call.query_mask, call.value_mask};
  if (inputs.size() > 2 && !masks.empty()) masks.push_back(call.key || call.key_mask ? call.key_mask : call.value_mask);
  const Symbol result = layer(inputs, masks);
  if (call.use_causal_mask) check_causal_call(layer.impl(), query.shape());
  return edited(result, [&](Symbol::Node& node) { node.use_causal_mask = call.use_causal_mask; });
}

}  // namespace

Symbol AttentionLayer::operator()(const Symbol& query, const Symbol& value) const {
  return call_attention(*this, query, value, {});
}

Symbol AttentionLayer::operator()(const Symbol& query, const Symbol& value, const AttentionCall& call) const {
  return call_attention(*this, query, value, call);
}

std::vector<Symbol> AttentionLayer::results(const Symbol& query, const Symbol& value, const AttentionCall& call) const {
  return results_of(call_attention(*this, query, value, call));
}

}  // namespace lockstep
