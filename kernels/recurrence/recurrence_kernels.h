#pragma once

#include <lockstep/kernels/kernel.h>

// All tensors are dense f32. Along the last axis of gates, recurrent and their gradients, the order of the gates is
// input, forget, candidate, output for an LSTM, and update, reset, candidate for a GRU.

namespace lockstep::kernels {

/// One step of an LSTM. On entry, `gates` and `recurrent` (n, 4 units) hold the contributions of the input and of the
/// previous hidden state to the pre-activations of the gates and the candidate. On return, `gates` holds the gates and
/// the candidate. The previous cell state c_before, the new one c and the hidden state h are (n, units).
struct LstmStep {
  Tensor gates;
  Tensor recurrent;
  Tensor c_before;
  Tensor c;
  Tensor h;

  static constexpr const char* name = "lstm_step";
  auto operands() const { return kernels::operands(gates, recurrent, c_before, c, h); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// Computes dsums (n, 4 units), the gradient with respect to the pre-activations. dh (n, units) is the gradient with
/// respect to h. On entry, dc (n, units) is the gradient with respect to c from later steps, without the part through
/// h; on return, it is the gradient with respect to c_before.
struct LstmStepGradient {
  Tensor gates;
  Tensor c_before;
  Tensor c;
  Tensor dh;
  Tensor dc;
  Tensor dsums;

  static constexpr const char* name = "lstm_step_gradient";
  auto operands() const { return kernels::operands(gates, c_before, c, dh, dc, dsums); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// One step of a GRU. On entry, `gates` and `recurrent` (n, 3 units) hold the contributions of the input and of the
/// previous state to the pre-activations of the gates and the candidate. On return, `gates` holds the gates and the
/// candidate, and `state_sum` (n, units) holds the state's contribution to the candidate's pre-activation.
struct GruStep {
  Tensor gates;
  Tensor recurrent;
  Tensor h_before;
  Tensor state_sum;
  Tensor h;

  static constexpr const char* name = "gru_step";
  auto operands() const { return kernels::operands(gates, recurrent, h_before, state_sum, h); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// Computes dgates and drecurrent (n, 3 units), the gradients with respect to the contributions of the input and of the
/// state. On entry, dh (n, units) is the gradient with respect to h; on return, it is the gradient with respect to
/// h_before, without the part that flows through drecurrent.
struct GruStepGradient {
  Tensor gates;
  Tensor state_sum;
  Tensor h_before;
  Tensor dh;
  Tensor dgates;
  Tensor drecurrent;

  static constexpr const char* name = "gru_step_gradient";
  auto operands() const { return kernels::operands(gates, state_sum, h_before, dh, dgates, drecurrent); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

}  // namespace lockstep::kernels
