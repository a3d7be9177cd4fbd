#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// One step of an LSTM. On entry the gates' pre-activations are the sums of `gates` (n, 4 units), the contribution of
/// the input, and `recurrent` (n, 4 units), the contribution of the previous state; on return `gates` holds the gates.
/// c_before, c and h are (n, units).
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
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// Computes dsums (n, 4 units), the gradient of the gates' pre-activations, from dh and dc; replaces dc by the gradient
/// of c_before.
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
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// One step of a GRU. On entry `gates` (n, 3 units) holds the input's contribution to the gates' pre-activations and
/// `recurrent` (n, 3 units) the contribution of the previous state; on return `gates` holds the gates and `state_sum`
/// (n, units) the state's contribution to the candidate's pre-activation.
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
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// Computes dgates and drecurrent (n, 3 units), the gradients of the contributions of the input and of the state, from
/// dh; replaces dh by the gradient of h_before without the part that flows through drecurrent.
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
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
