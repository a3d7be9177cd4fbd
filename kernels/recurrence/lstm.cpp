#include "lockstep/kernels/recurrence/lstm.h"

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
using recurrence::states;
using recurrence::step_of;

/// Dense operands.
struct LstmOperands {
  Tensor x, kernel, recurrent_kernel, bias;
  RecurrentStates initial;

  std::array<Tensor, 6> all() const { return {x, kernel, recurrent_kernel, bias, initial.h, initial.c}; }
};

LstmOperands lstm_operands(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                           const RecurrentStates& initial) {
  recurrence::check_operands("lstm", 4, x, kernel, recurrent_kernel);
  require(bias.defined() && bias.dtype() == DType::f32 && bias.shape() == Shape{recurrent_kernel.dim(1)},
          "lstm: the bias for recurrent kernel {} must be f32 ({}), got {}", recurrent_kernel.shape(),
          recurrent_kernel.dim(1), bias);
  recurrence::check_state("lstm", "h", initial.h, x, recurrent_kernel);
  recurrence::check_state("lstm", "c", initial.c, x, recurrent_kernel);
  const auto dense_state = [](const Tensor& state) { return state.defined() ? dense_copy(state) : state; };
  return {dense_copy(x),
          dense_copy(kernel),
          dense_copy(recurrent_kernel),
          dense_copy(bias),
          {dense_state(initial.h), dense_state(initial.c)}};
}

/// Tensors that the gradient needs.
struct LstmSaved {
  Tensor x;  ///< (time, n, features)
  Tensor kernel, recurrent_kernel;
  Tensor gates;  ///< (time, n, 4 units)
  Tensor c, h;   ///< (time + 1, n, units): the initial state, then the state after each step

  std::int64_t time() const { return x.dim(0); }
};

LstmSaved run_lstm(const LstmOperands& in) {
  const std::int64_t n = in.x.dim(0);
  const std::int64_t time = in.x.dim(1);
  const std::int64_t units = in.recurrent_kernel.dim(0);
  const LstmSaved run{.x = recurrence::time_first(in.x),
                      .kernel = in.kernel,
                      .recurrent_kernel = in.recurrent_kernel,
                      .gates = Tensor::empty({time, n, 4 * units}),
                      .c = states(time + 1, n, units, in.initial.c),
                      .h = states(time + 1, n, units, in.initial.h)};
  launch(kernels::Dense{as_matrix(run.x), in.kernel, in.bias, Activation::linear, as_matrix(run.gates)});
  const Tensor recurrent = Tensor::empty({n, 4 * units});
  launch(kernels::Fill{recurrent, 0});
  for (std::int64_t s = 0; s < time; ++s) {
    if (s > 0 || in.initial.h.defined())
      launch(kernels::Dense{step_of(run.h, s), in.recurrent_kernel, {}, Activation::linear, recurrent});
    launch(kernels::LstmStep{step_of(run.gates, s), recurrent, step_of(run.c, s), step_of(run.c, s + 1),
                             step_of(run.h, s + 1)});
  }
  return run;
}

/// Gradients of the gates' sums, (time, n, 4 units), and of c before the first step.
struct LstmGradients {
  Tensor sums, c;
};

/// `dh_steps` and `dc_steps`, the gradients of the results: (n, time, units), (n, units) for the last step only, or
/// undefined for 0.
LstmGradients gradients_through_time(const LstmSaved& saved, const Tensor& dh_steps, const Tensor& dc_steps) {
  const Tensor dsums = Tensor::empty(saved.gates.shape());
  const Shape step{saved.c.dim(1), saved.c.dim(2)};
  const Tensor dh = Tensor::empty(step);
  const Tensor dc = Tensor::empty(step);
  launch(kernels::Fill{dh, 0});
  launch(kernels::Fill{dc, 0});
  for (std::int64_t s = saved.time() - 1; s >= 0; --s) {
    if (s < saved.time() - 1)
      launch(kernels::DenseGradientX{step_of(dsums, s + 1), saved.recurrent_kernel, Write::replace, dh});
    recurrence::add_gradient_of_result(dh_steps, s, saved.time(), dh);
    recurrence::add_gradient_of_result(dc_steps, s, saved.time(), dc);
    launch(kernels::LstmStepGradient{step_of(saved.gates, s), step_of(saved.c, s), step_of(saved.c, s + 1), dh, dc,
                                     step_of(dsums, s)});
  }
  return {dsums, dc};
}

/// `dc_steps`: as in gradients_through_time.
void contribute_gradients(BackwardContext& c, const LstmSaved& saved, const Tensor& dc_steps) {
  recurrence::stop_recording_gradient(c);
  const LstmGradients d = gradients_through_time(saved, c.gradient(0), dc_steps);
  const Tensor dsums = as_matrix(d.sums);
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
  contribute(c, 4, d.c.shape(), [&](const Tensor& out) {
    launch(kernels::DenseGradientX{step_of(d.sums, 0), saved.recurrent_kernel, Write::replace, out});
  });
  contribute(c, 5, d.c.shape(), [&](const Tensor& out) { copy(d.c, out); });
}

/// The op step by step; without c unless `with_c`.
RecurrentStates lstm_steps(const LstmOperands& in, bool return_sequences, bool with_c) {
  const LstmSaved saved = run_lstm(in);
  const auto result_of = [&](const Tensor& all) {
    return recurrence::result_of(all.slice_view(0, 1, saved.time() + 1), return_sequences);
  };
  const RecurrentStates results{.h = result_of(saved.h), .c = with_c ? result_of(saved.c) : Tensor()};
  const std::array inputs = in.all();
  if (recording(inputs)) {
    const std::array outputs{results.h, results.c};
    record("lstm", inputs, std::span(outputs).first(with_c ? 2 : 1),
           [saved, with_c](BackwardContext& c) { contribute_gradients(c, saved, with_c ? c.gradient(1) : Tensor()); });
  }
  return results;
}

}  // namespace

Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            bool return_sequences) try {
  const LstmOperands in = lstm_operands(x, kernel, recurrent_kernel, bias, {});
  const Tensor y = recurrence::run_whole("lstm", RecurrentCell::lstm, in.x, {in.kernel, in.recurrent_kernel, in.bias},
                                         return_sequences);
  return y.defined() ? y : lstm_steps(in, return_sequences, false).h;
} catch (Error& error) {
  rethrow_from("lstm", error);
}

RecurrentStates lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                     const RecurrentStates& initial, bool return_sequences) try {
  return lstm_steps(lstm_operands(x, kernel, recurrent_kernel, bias, initial), return_sequences, true);
} catch (Error& error) {
  rethrow_from("lstm", error);
}

}  // namespace lockstep
