#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// A recurrent op and its formula.
struct RecurrentKind {
  std::string name;  ///< begins with the function's name
  std::int64_t gates;
  std::int64_t biases;  ///< number of biases for each gate
  Tensor (*op)(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
               bool return_sequences);
  bool is_composed = true;  ///< whether `op` is composed of other ops

  Shape bias_shape(std::int64_t units) const {
    return biases == 1 ? Shape{gates * units} : Shape{biases, gates * units};
  }
};

/// lstm and gru; an LSTM and a GRU with other formulas, composed of other ops; and simple_rnn.
const std::vector<RecurrentKind>& recurrent_kinds();

/// Ops for any formula, which are composed of other ops.
using Composed = RecurrentStates (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                     const RecurrenceOptions&, const RecurrentDropout&, const RecurrentStates&);
inline constexpr Composed composed_lstm = &lstm;
inline constexpr Composed composed_gru = &gru;

/// A length of sums that quadruples the tolerance, for GPUs. cuDNN's kernel for whole LSTM layers computes its
/// functions with a relative accuracy of only about 2e-6.
inline constexpr std::int64_t as_cudnn_rounds(std::int64_t length) { return 16 * length; }

}  // namespace lockstep::test
