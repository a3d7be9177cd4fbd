#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The states of a recurrent op, before its first step or after others; undefined ones before the first step are 0.
struct RecurrentStates {
  Tensor h{};  ///< what the op returns
  Tensor c{};  ///< an LSTM's second state; undefined for other ops
};

}  // namespace lockstep
