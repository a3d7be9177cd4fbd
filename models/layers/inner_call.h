#pragma once

#include <span>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Calls `inner`, a layer inside `outer`, and returns its result. Casts floating-point inputs to the inner layer's
/// call_dtype, and floating-point results, including more_results, to the outer layer's: their dtype policies may
/// differ.
Tensor call_inner(LayerImpl& inner, const LayerImpl& outer, std::span<const Tensor> inputs, const LayerCall& call);

}  // namespace lockstep
