#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// A recurrent op with its formula.
struct RecurrentKind {
  std::string name;  ///< the function first
  std::int64_t gates;
  std::int64_t biases;  ///< for each gate's sum
  Tensor (*op)(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
               bool return_sequences);

  Shape bias_shape(std::int64_t units) const {
    return biases == 1 ? Shape{gates * units} : Shape{biases, gates * units};
  }
};

/// lstm, gru, and one formula of each that is composed of other ops.
const std::vector<RecurrentKind>& recurrent_kinds();

/// The ops that are composed of others, of any formula.
using Composed = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const RecurrenceOptions&);
inline constexpr Composed composed_lstm = &lstm;
inline constexpr Composed composed_gru = &gru;

/// The length of sums for tolerances on GPUs: four times as much, since cuDNN's kernel of whole LSTM layers computes
/// its functions only to some 2e-6 of their values.
inline constexpr std::int64_t as_cudnn_rounds(std::int64_t length) { return 16 * length; }

}  // namespace lockstep::test
