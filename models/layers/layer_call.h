#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Whether a call trains (batch statistics, dropout) or infers.
enum class Mode { inference, train };

/// Options of one call of a layer, set by the network.
struct LayerCall {
  /// Training or inference.
  Mode mode = Mode::inference;
  bool fused_relu = false;  ///< apply max(0, .) to the result; set only with LayerTraits::can_fuse_relu
  Tensor out{};             ///< if defined, where to write the result; set only with LayerTraits::can_write_to
  /// Whether the result is an output of the network, directly or after layers with LayerTraits::may_return_input. A
  /// softmax or sigmoid then keeps its logits for losses.
  bool is_output = false;
  bool use_causal_mask = false;  ///< Keras' argument of attention layers
  bool has_given_masks = false;  ///< whether the call has masks as arguments (CallMasks), which replace carried ones
  bool penalizes_result = true;  ///< whether an activity_regularizer applies
  /// The mask of each input: bool, false for masked elements, usually (n, time) for an input (n, time, ...); undefined
  /// for an input without a mask. Empty if no input has a mask.
  std::span<const Tensor> masks{};
  /// If not null, receives the batch's results after the first one; LayerImpl::more_output_shapes gives their shapes
  /// without the batch axis. A network sets this pointer if it uses any of these results.
  std::vector<Tensor>* more_results = nullptr;

  /// The mask of an input; undefined if it has none.
  Tensor mask(std::size_t input) const { return input < masks.size() ? masks[input] : Tensor(); }
};

}  // namespace lockstep
