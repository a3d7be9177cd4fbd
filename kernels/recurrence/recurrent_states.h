#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The states of a recurrent op before its first step, where undefined ones are 0, or after later steps.
struct RecurrentStates {
  Tensor h{};  ///< the output of the op
  Tensor c{};  ///< an LSTM's second state; undefined for other ops
};

}  // namespace lockstep
