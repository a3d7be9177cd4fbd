#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The states of a recurrent op. An undefined initial state counts as 0.
struct RecurrentStates {
  Tensor h{};  ///< the output of the op
  Tensor c{};  ///< an LSTM's second state; undefined for other ops
};

}  // namespace lockstep
