#pragma once

#include <span>
#include <vector>

namespace lockstep {

/// The masks that a layer's call has as arguments (CallMasks). They follow the layer's inputs among the inputs of the
/// call. For each input of the layer, the index of its mask among the call's inputs, no_mask or carried_mask. Empty for
/// a call without such arguments, which reads the masks that the inputs carry.
using GivenMasks = std::vector<int>;
constexpr int no_mask = -1;       ///< the layer reads no mask of this input
constexpr int carried_mask = -2;  ///< the layer reads the mask that this input carries

/// The layer's own inputs among the inputs of a call.
template <class Input>
std::span<const Input> layer_inputs(const std::vector<Input>& inputs, const GivenMasks& masks) {
  return std::span(inputs).first(masks.empty() ? inputs.size() : masks.size());
}

}  // namespace lockstep
