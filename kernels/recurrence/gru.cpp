#include "lockstep/kernels/recurrence/gru.h"

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

/// Tensors that the gradient needs.
struct GruSaved {
  Tensor x;  ///< (time, n, features)
  Tensor kernel, recurrent_kernel;
  Tensor gates;       ///< (time, n, 3 units)
  Tensor state_sums;  ///< (time, n, units): the state's contribution to the candidates' sums
  Tensor h;           ///< (time + 1, n, units): the initial state, then the state after each step

  std::int64_t time() const { return x.dim(0); }
};

GruSaved run_gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias) {
  const std::int64_t n = x.dim(0);
  const std::int64_t time = x.dim(1);
  const std::int64_t units = recurrent_kernel.dim(0);
  const GruSaved run{.x = recurrence::time_first(x),
                     .kernel = kernel,
                     .recurrent_kernel = recurrent_kernel,
                     .gates = Tensor::empty({time, n, 3 * units}),
                     .state_sums = Tensor::empty({time, n, units}),
                     .h = recurrence::states(time + 1, n, units)};
  launch(kernels::Dense{as_matrix(run.x), kernel, bias_row(bias, 0), Activation::linear, as_matrix(run.gates)});
  const Tensor recurrent = Tensor::empty({n, 3 * units});
  launch(kernels::Convert{bias_row(bias, 1).broadcast_view(recurrent.shape()), recurrent});
  for (std::int64_t s = 0; s < time; ++s) {
    if (s > 0)
      launch(kernels::Dense{step_of(run.h, s), recurrent_kernel, bias_row(bias, 1), Activation::linear, recurrent});
    launch(kernels::GruStep{step_of(run.gates, s), recurrent, step_of(run.h, s), step_of(run.state_sums, s),
                            step_of(run.h, s + 1)});
  }
  return run;
}

/// Gradients of the gates' sums, (time, n, 3 units), with respect to the input's and to the state's contribution.
struct SumGradients {
  Tensor of_input, of_state;
};

SumGradients gradient_through_time(const GruSaved& saved, const Tensor& dy) {
  const SumGradients d{Tensor::empty(saved.gates.shape()), Tensor::empty(saved.gates.shape())};
  const Tensor dh = Tensor::empty({saved.h.dim(1), saved.h.dim(2)});
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
  const SumGradients d = gradient_through_time(saved, c.gradient(0));
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
}

}  // namespace

Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
           bool return_sequences) try {
  recurrence::check_operands("gru", 3, x, kernel, recurrent_kernel);
  require(bias.defined() && bias.dtype() == DType::f32 && bias.shape() == Shape{2, recurrent_kernel.dim(1)},
          "gru: the bias for recurrent kernel {} must be f32 (2, {}), got {}", recurrent_kernel.shape(),
          recurrent_kernel.dim(1), bias);
  const Tensor input = dense_copy(x);
  const Tensor weights = dense_copy(kernel);
  const Tensor recurrent = dense_copy(recurrent_kernel);
  const Tensor shift = dense_copy(bias);
  if (const Tensor y =
          recurrence::run_whole("gru", RecurrentCell::gru, input, {weights, recurrent, shift}, return_sequences);
      y.defined())
    return y;
  const GruSaved saved = run_gru(input, weights, recurrent, shift);
  const Tensor y = recurrence::result_of(saved.h.slice_view(0, 1, saved.time() + 1), return_sequences);
  if (recording({input, weights, recurrent, shift}))
    record("gru", {input, weights, recurrent, shift}, y,
           [saved](BackwardContext& c) { contribute_gradients(c, saved); });
  return y;
} catch (Error& error) {
  rethrow_from("gru", error);
}

}  // namespace lockstep
