#include "lockstep/kernels/recurrence/lstm.h"

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
using recurrence::states;
using recurrence::step_of;

/// Tensors that the gradient needs.
struct LstmSaved {
  Tensor x;  ///< (time, n, features)
  Tensor kernel, recurrent_kernel;
  Tensor gates;  ///< (time, n, 4 units)
  Tensor c, h;   ///< (time + 1, n, units): the initial state, then the state after each step

  std::int64_t time() const { return x.dim(0); }
};

LstmSaved run_lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias) {
  const std::int64_t n = x.dim(0);
  const std::int64_t time = x.dim(1);
  const std::int64_t units = recurrent_kernel.dim(0);
  const LstmSaved run{.x = recurrence::time_first(x),
                      .kernel = kernel,
                      .recurrent_kernel = recurrent_kernel,
                      .gates = Tensor::empty({time, n, 4 * units}),
                      .c = states(time + 1, n, units),
                      .h = states(time + 1, n, units)};
  launch(kernels::Dense{as_matrix(run.x), kernel, bias, Activation::linear, as_matrix(run.gates)});
  const Tensor recurrent = Tensor::empty({n, 4 * units});
  launch(kernels::Fill{recurrent, 0});
  for (std::int64_t s = 0; s < time; ++s) {
    if (s > 0) launch(kernels::Dense{step_of(run.h, s), recurrent_kernel, {}, Activation::linear, recurrent});
    launch(kernels::LstmStep{step_of(run.gates, s), recurrent, step_of(run.c, s), step_of(run.c, s + 1),
                             step_of(run.h, s + 1)});
  }
  return run;
}

/// The gradient of the gates' sums, (time, n, 4 units). `dy`: (n, time, units), or (n, units) for the last step only.
Tensor gradient_through_time(const LstmSaved& saved, const Tensor& dy) {
  const Tensor dsums = Tensor::empty(saved.gates.shape());
  const Shape step{saved.c.dim(1), saved.c.dim(2)};
  const Tensor dh = Tensor::empty(step);
  const Tensor dc = Tensor::empty(step);
  launch(kernels::Fill{dh, 0});
  launch(kernels::Fill{dc, 0});
  for (std::int64_t s = saved.time() - 1; s >= 0; --s) {
    if (s < saved.time() - 1)
      launch(kernels::DenseGradientX{step_of(dsums, s + 1), saved.recurrent_kernel, Write::replace, dh});
    recurrence::add_gradient_of_result(dy, s, saved.time(), dh);
    launch(kernels::LstmStepGradient{step_of(saved.gates, s), step_of(saved.c, s), step_of(saved.c, s + 1), dh, dc,
                                     step_of(dsums, s)});
  }
  return dsums;
}

void contribute_gradients(BackwardContext& c, const LstmSaved& saved) {
  const Tensor dsums = as_matrix(gradient_through_time(saved, c.gradient(0)));
  const Tensor dbias = Tensor::empty({dsums.dim(1)});
  const auto kernel_gradient = [&](const Tensor& out) {
    launch(kernels::DenseGradientKernel{as_matrix(saved.x), dsums, out, dbias});
  };
  if (c.needs(1))  // the bias' gradient is computed together with the kernel's
    contribute(c, 1, saved.kernel.shape(), kernel_gradient);
  else if (c.needs(3))
    recurrence::sum_rows(dsums, dbias);
  contribute(c, 2, saved.recurrent_kernel.shape(), [&](const Tensor& out) {
    const Tensor before = saved.h.slice_view(0, 0, saved.time());
    launch(kernels::DenseGradientKernel{as_matrix(before), dsums, out, {}});
  });
  contribute(c, 3, dbias.shape(), [&](const Tensor& out) { copy(dbias, out); });
  const Shape& by_time = saved.x.shape();
  contribute(c, 0, {by_time[1], by_time[0], by_time[2]}, [&](const Tensor& out) {
    const Tensor dx = Tensor::empty(by_time);
    launch(kernels::DenseGradientX{dsums, saved.kernel, Write::replace, as_matrix(dx)});
    recurrence::write_rows_first(dx, out);
  });
}

}  // namespace

Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            bool return_sequences) try {
  recurrence::check_operands("lstm", 4, x, kernel, recurrent_kernel);
  require(bias.defined() && bias.dtype() == DType::f32 && bias.shape() == Shape{recurrent_kernel.dim(1)},
          "lstm: the bias for recurrent kernel {} must be f32 ({}), got {}", recurrent_kernel.shape(),
          recurrent_kernel.dim(1), bias);
  const Tensor input = dense_copy(x);
  const Tensor weights = dense_copy(kernel);
  const Tensor recurrent = dense_copy(recurrent_kernel);
  const Tensor shift = dense_copy(bias);
  if (const Tensor y =
          recurrence::run_whole("lstm", RecurrentCell::lstm, input, {weights, recurrent, shift}, return_sequences);
      y.defined())
    return y;
  const LstmSaved saved = run_lstm(input, weights, recurrent, shift);
  const Tensor y = recurrence::result_of(saved.h.slice_view(0, 1, saved.time() + 1), return_sequences);
  if (recording({input, weights, recurrent, shift}))
    record("lstm", {input, weights, recurrent, shift}, y,
           [saved](BackwardContext& c) { contribute_gradients(c, saved); });
  return y;
} catch (Error& error) {
  rethrow_from("lstm", error);
}

}  // namespace lockstep
