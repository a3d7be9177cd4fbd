#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// `gates` holds the inputs' part of the gates' sums, to which `recurrent` is added, and then the gates themselves.
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

/// dsums from dh and dc; dc becomes the gradient of c_before.
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

/// `gates` holds the inputs' part of the gates' sums, `recurrent` the state's, and then `gates` the gates themselves
/// and `state_sum` the state's part of the candidate's.
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

/// The gradients of the inputs' and the state's part of the gates' sums from dh, which becomes the gradient of
/// h_before but for what reaches it through drecurrent.
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
