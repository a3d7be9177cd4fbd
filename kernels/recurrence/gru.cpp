#include "lockstep/kernels/recurrence/gru.h"

#include <array>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/recurrence/recurrence.h>
#include <lockstep/kernels/recurrence/recurrence_kernels.h>
#include <lockstep/kernels/recurrence/run_whole.h>
#include <lockstep/kernels/write.h>

namespace lockstep {
namespace {

using recurrence::as_matrix;
using recurrence::step_of;

/// A row of the bias as a vector: row 0 is the input's bias, row 1 the state's.
Tensor bias_row(const Tensor& bias, std::int64_t row) {
  return bias.slice_view(0, row, row + 1).view(Shape{bias.dim(1)});
}

/// Dense operands.
struct GruOperands {
  Tensor x, kernel, recurrent_kernel, bias, initial;

  std::array<Tensor, 5> all() const { return {x, kernel, recurrent_kernel, bias, initial}; }
};

GruOperands gru_operands(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                         const Tensor& initial) {
  recurrence::check_operands("gru", 3, x, kernel, recurrent_kernel);
  require(bias.defined() && bias.dtype() == DType::f32 && bias.shape() == Shape{2, recurrent_kernel.dim(1)},
          "gru: the bias for recurrent kernel {} must be f32 (2, {}), got {}", recurrent_kernel.shape(),
          recurrent_kernel.dim(1), bias);
  recurrence::check_state("gru", "h", initial, x, recurrent_kernel);
  return {dense_copy(x), dense_copy(kernel), dense_copy(recurrent_kernel), dense_copy(bias),
          initial.defined() ? dense_copy(initial) : initial};
}

/// Tensors that the gradient needs.
struct GruSaved {
  Tensor x;  ///< (time, n, features)
  Tensor kernel, recurrent_kernel;
  Tensor gates;       ///< (time, n, 3 units)
  Tensor state_sums;  ///< (time, n, units): the state's contribution to the candidates' sums
  Tensor h;           ///< (time + 1, n, units): the initial state, then the state after each step

  std::int64_t time() const { return x.dim(0); }
};

GruSaved run_gru(const GruOperands& in) {
  const std::int64_t n = in.x.dim(0);
  const std::int64_t time = in.x.dim(1);
  const std::int64_t units = in.recurrent_kernel.dim(0);
  const GruSaved run{.x = recurrence::time_first(in.x),
                     .kernel = in.kernel,
                     .recurrent_kernel = in.recurrent_kernel,
                     .gates = Tensor::empty({time, n, 3 * units}),
                     .state_sums = Tensor::empty({time, n, units}),
                     .h = recurrence::states(time + 1, n, units, in.initial)};
  launch(kernels::Dense{as_matrix(run.x), in.kernel, bias_row(in.bias, 0), Activation::linear, as_matrix(run.gates)});
  const Tensor state_bias = bias_row(in.bias, 1);
  const Tensor recurrent = Tensor::empty({n, 3 * units});
  launch(kernels::Convert{state_bias.broadcast_view(recurrent.shape()), recurrent});
  for (std::int64_t s = 0; s < time; ++s) {
    if (s > 0 || in.initial.defined())
      launch(kernels::Dense{step_of(run.h, s), in.recurrent_kernel, state_bias, Activation::linear, recurrent});
    launch(kernels::GruStep{step_of(run.gates, s), recurrent, step_of(run.h, s), step_of(run.state_sums, s),
                            step_of(run.h, s + 1)});
  }
  return run;
}

/// Gradients of the gates' sums, (time, n, 3 units), with respect to the input's and to the state's contribution, and
/// of h before the first step, without what flows through the state's contribution.
struct GruGradients {
  Tensor of_input, of_state, h;
};

GruGradients gradients_through_time(const GruSaved& saved, const Tensor& dy) {
  const GruGradients d{Tensor::empty(saved.gates.shape()), Tensor::empty(saved.gates.shape()),
                       Tensor::empty({saved.h.dim(1), saved.h.dim(2)})};
  const Tensor& dh = d.h;
  launch(kernels::Fill{dh, 0});
  for (std::int64_t s = saved.time() - 1; s >= 0; --s) {
    if (s < saved.time() - 1)
      launch(kernels::DenseGradientX{step_of(d.of_state, s + 1), saved.recurrent_kernel, Write::add, dh});
    recurrence::add_gradient_of_result(dy, s, saved.time(), dh);
    launch(kernels::GruStepGradient{step_of(saved.gates, s), step_of(saved.state_sums, s), step_of(saved.h, s), dh,
                                    step_of(d.of_input, s), step_of(d.of_state, s)});
  }
  return d;
}

void contribute_gradients(BackwardContext& c, const GruSaved& saved) {
  recurrence::stop_recording_gradient(c);
  const GruGradients d = gradients_through_time(saved, c.gradient(0));
  const Tensor of_input = as_matrix(d.of_input);
  const Tensor of_state = as_matrix(d.of_state);
  const Tensor dbias = Tensor::empty({2, of_input.dim(1)});
  // The biases' gradients are computed together with those of the kernels.
  contribute(c, 1, saved.kernel.shape(), [&](const Tensor& out) {
    launch(kernels::DenseGradientKernel{as_matrix(saved.x), of_input, out, bias_row(dbias, 0)});
  });
  contribute(c, 2, saved.recurrent_kernel.shape(), [&](const Tensor& out) {
    const Tensor before = saved.h.slice_view(0, 0, saved.time());
    launch(kernels::DenseGradientKernel{as_matrix(before), of_state, out, bias_row(dbias, 1)});
  });
  contribute(c, 3, dbias.shape(), [&](const Tensor& out) {
    if (!c.needs(1)) recurrence::sum_rows(of_input, bias_row(dbias, 0));
    if (!c.needs(2)) recurrence::sum_rows(of_state, bias_row(dbias, 1));
    copy(dbias, out);
  });
  const Shape& by_time = saved.x.shape();
  contribute(c, 0, {by_time[1], by_time[0], by_time[2]}, [&](const Tensor& out) {
    const Tensor dx = Tensor::empty(by_time);
    launch(kernels::DenseGradientX{of_input, saved.kernel, Write::replace, as_matrix(dx)});
    recurrence::write_rows_first(dx, out);
  });
  contribute(c, 4, d.h.shape(), [&](const Tensor& out) {
    copy(d.h, out);
    launch(kernels::DenseGradientX{step_of(d.of_state, 0), saved.recurrent_kernel, Write::add, out});
  });
}

/// The op step by step.
Tensor gru_steps(const GruOperands& in, bool return_sequences) {
  const GruSaved saved = run_gru(in);
  const Tensor y = recurrence::result_of(saved.h.slice_view(0, 1, saved.time() + 1), return_sequences);
  const std::array inputs = in.all();
  if (recording(inputs))
    record("gru", inputs, std::span(&y, 1), [saved](BackwardContext& c) { contribute_gradients(c, saved); });
  return y;
}

}  // namespace

Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
           bool return_sequences) try {
  const GruOperands in = gru_operands(x, kernel, recurrent_kernel, bias, {});
  const Tensor y = recurrence::run_whole("gru", RecurrentCell::gru, in.x, {in.kernel, in.recurrent_kernel, in.bias},
                                         return_sequences);
  return y.defined() ? y : gru_steps(in, return_sequences);
} catch (Error& error) {
  rethrow_from("gru", error);
}

RecurrentStates gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                    const RecurrentStates& initial, bool return_sequences) try {
  return {.h = gru_steps(gru_operands(x, kernel, recurrent_kernel, bias, initial.h), return_sequences)};
} catch (Error& error) {
  rethrow_from("gru", error);
}

}  // namespace lockstep
