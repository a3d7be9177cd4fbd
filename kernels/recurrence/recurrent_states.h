#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The states of a recurrent op. An undefined initial state counts as 0.
struct RecurrentStates {
  Tensor h{};  ///< the hidden state, which is the op's output
  Tensor c{};  ///< the cell state of an LSTM; undefined for other ops
};

}  // namespace lockstep
