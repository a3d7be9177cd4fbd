#pragma once

#include <cmath>

#include <lockstep/kernels/elementwise/math.h>
#include <lockstep/runtime/core/host_device.h>

// One unit of an LSTM at one time step (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). The
// suffixes of sum_i, sum_f, sum_c and sum_o are Keras' names of the input gate, the forget gate, the candidate and the
// output gate. Gates use the sigmoid, the candidate uses tanh.

namespace lockstep {

struct LstmUnit {
  float input, forget, candidate, output;  ///< gates and candidate, after their activations
  float c, h;                              ///< the new cell state and hidden state
};

/// Computes a unit's gates, candidate, cell state and hidden state from the pre-activations sum_i, sum_f, sum_c and
/// sum_o and the previous cell state.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline LstmUnit lstm_unit(float sum_i, float sum_f, float sum_c,
                                                                      float sum_o, float c_before) {
  LstmUnit unit{};
  unit.input = sigmoid_f32(sum_i);
  unit.forget = sigmoid_f32(sum_f);
  unit.candidate = tanh_f32(sum_c);
  unit.output = sigmoid_f32(sum_o);
  unit.c = unit.forget * c_before + unit.input * unit.candidate;
  unit.h = unit.output * tanh_f32(unit.c);
  return unit;
}

/// Gradients with respect to the pre-activations and to the previous cell state.
struct LstmUnitGradient {
  float sum_i, sum_f, sum_c, sum_o, c_before;
};

/// Computes a unit's gradients from dh, the gradient of the hidden state, and dc, the gradient of the cell state from
/// later steps. Does not read `unit.h`.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline LstmUnitGradient lstm_unit_gradient(const LstmUnit& unit,
                                                                                       float c_before, float dh,
                                                                                       float dc) {
  const float tanh_c = tanh_f32(unit.c);
  const float through_c = dc + dh * unit.output * (1.0F - tanh_c * tanh_c);
  LstmUnitGradient gradient{};
  gradient.sum_i = through_c * unit.candidate * unit.input * (1.0F - unit.input);
  gradient.sum_f = through_c * c_before * unit.forget * (1.0F - unit.forget);
  gradient.sum_c = through_c * unit.input * (1.0F - unit.candidate * unit.candidate);
  gradient.sum_o = dh * tanh_c * unit.output * (1.0F - unit.output);
  gradient.c_before = through_c * unit.forget;
  return gradient;
}

}  // namespace lockstep
