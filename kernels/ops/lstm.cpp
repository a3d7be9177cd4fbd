#include <lockstep/kernels/ops/array.h>
#include <lockstep/kernels/ops/gradient.h>
#include <lockstep/kernels/ops/lstm.h>

// Time is the first axis of all that is kept: what belongs to one step is dense then, and what belongs to all steps is
// one matrix. The products with the input, and the gradients of both kernels, are single matrix products over all
// steps; only what a step takes from the one before it is computed step by step.

namespace lockstep {
namespace {

void check_operands(const Tensor& x, const Tensor& kernel, const Tensor& recurrent, const Tensor& bias) {
  require(x.defined() && x.rank() == 3 && x.dtype() == DType::f32 && x.dim(1) >= 1 && x.dim(2) >= 1,
          "lstm: x must be f32 (n, time, features), got {}", x);
  require(recurrent.defined() && recurrent.rank() == 2 && recurrent.dtype() == DType::f32 && recurrent.dim(0) >= 1 &&
              recurrent.dim(1) == 4 * recurrent.dim(0),
          "lstm: the recurrent kernel must be f32 (units, 4 units), got {}", recurrent);
  require(kernel.defined() && kernel.dtype() == DType::f32 && kernel.shape() == Shape{x.dim(2), recurrent.dim(1)},
          "lstm: the kernel for x {} and recurrent kernel {} must be f32 ({}, {}), got {}", x.shape(),
          recurrent.shape(), x.dim(2), recurrent.dim(1), kernel);
  require(bias.defined() && bias.dtype() == DType::f32 && bias.shape() == Shape{recurrent.dim(1)},
          "lstm: the bias for recurrent kernel {} must be f32 ({}), got {}", recurrent.shape(), recurrent.dim(1), bias);
}

/// Step `s` of (time, n, k) as (n, k).
Tensor step_of(const Tensor& x, std::int64_t s) { return x.slice_view(0, s, s + 1).view({x.dim(1), x.dim(2)}); }

/// All steps of (time, n, k) as one matrix (time * n, k).
Tensor as_matrix(const Tensor& x) { return x.view({x.dim(0) * x.dim(1), x.dim(2)}); }

/// Calls visit(step of `by_time` (time, n, k), the same step of `by_row` (n, time, k)) for each step, both (n, 1, k).
template <class Visit>
void for_each_step(const Tensor& by_time, const Tensor& by_row, const Visit& visit) {
  const Shape step{by_row.dim(0), 1, by_row.dim(2)};
  for (std::int64_t s = 0; s < by_row.dim(1); ++s)
    visit(by_time.slice_view(0, s, s + 1).view(step), by_row.slice_view(1, s, s + 1));
}

Tensor time_first(const Tensor& x) {
  const Tensor result = Tensor::empty({x.dim(1), x.dim(0), x.dim(2)});
  for_each_step(result, x, [](const Tensor& to, const Tensor& from) { current_backend().convert(from, to); });
  return result;
}

void write_rows_first(const Tensor& x, const Tensor& out) {
  for_each_step(x, out, [](const Tensor& from, const Tensor& to) { current_backend().convert(from, to); });
}

/// (steps, n, units) whose first step is 0 and whose others are not yet written.
Tensor states(std::int64_t steps, std::int64_t n, std::int64_t units) {
  const Tensor result = Tensor::empty({steps, n, units});
  current_backend().fill(step_of(result, 0), 0);
  return result;
}

/// What the gradient needs.
struct Saved {
  Tensor x;  ///< (time, n, features)
  Tensor kernel, recurrent_kernel;
  Tensor gates;  ///< (time, n, 4 units)
  Tensor c, h;   ///< (time + 1, n, units): the state before the first step, then after each

  std::int64_t time() const { return x.dim(0); }
};

Saved run(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias) {
  const std::int64_t n = x.dim(0);
  const std::int64_t time = x.dim(1);
  const std::int64_t units = recurrent_kernel.dim(0);
  const Saved run{.x = time_first(x),
                  .kernel = kernel,
                  .recurrent_kernel = recurrent_kernel,
                  .gates = Tensor::empty({time, n, 4 * units}),
                  .c = states(time + 1, n, units),
                  .h = states(time + 1, n, units)};
  current_backend().dense(as_matrix(run.x), kernel, bias, Activation::linear, as_matrix(run.gates));
  const Tensor recurrent = Tensor::empty({n, 4 * units});
  current_backend().fill(recurrent, 0);
  for (std::int64_t s = 0; s < time; ++s) {
    if (s > 0) current_backend().dense(step_of(run.h, s), recurrent_kernel, {}, Activation::linear, recurrent);
    current_backend().lstm_step(step_of(run.gates, s), recurrent, step_of(run.c, s), step_of(run.c, s + 1),
                                step_of(run.h, s + 1));
  }
  return run;
}

/// The gradients of all gates' sums, (time, n, 4 units), from dy (n, time, units) or, of the last step, (n, units).
Tensor gradient_through_time(const Saved& saved, const Tensor& dy) {
  const Tensor dsums = Tensor::empty(saved.gates.shape());
  const Shape step{saved.c.dim(1), saved.c.dim(2)};
  const Tensor dh = Tensor::empty(step);
  const Tensor dc = Tensor::empty(step);
  current_backend().fill(dh, 0);
  current_backend().fill(dc, 0);
  for (std::int64_t s = saved.time() - 1; s >= 0; --s) {
    const bool last = s == saved.time() - 1;
    if (!last) current_backend().dense_gradient_x(step_of(dsums, s + 1), saved.recurrent_kernel, dh);
    if (dy.rank() == 3)
      current_backend().accumulate(dy.slice_view(1, s, s + 1), 1, dh.view({step[0], 1, step[1]}));
    else if (last)
      current_backend().accumulate(dy, 1, dh);
    current_backend().lstm_step_gradient(step_of(saved.gates, s), step_of(saved.c, s), step_of(saved.c, s + 1), dh, dc,
                                         step_of(dsums, s));
  }
  return dsums;
}

void contribute_gradients(BackwardContext& c, const Saved& saved) {
  const Tensor dsums = as_matrix(gradient_through_time(saved, c.gradient(0)));
  const Tensor dbias = Tensor::empty({dsums.dim(1)});
  const auto kernel_gradient = [&](const Tensor& out) {
    current_backend().dense_gradient_kernel(as_matrix(saved.x), dsums, out, dbias);
  };
  if (c.needs(1))  // the bias' gradient comes with the kernel's
    contribute(c, 1, saved.kernel.shape(), kernel_gradient);
  else if (c.needs(3))
    current_backend().sum_middle(dsums.view({1, dsums.dim(0), dsums.dim(1)}), dbias.view({1, dsums.dim(1)}));
  contribute(c, 2, saved.recurrent_kernel.shape(), [&](const Tensor& out) {
    const Tensor before = saved.h.slice_view(0, 0, saved.time());
    current_backend().dense_gradient_kernel(as_matrix(before), dsums, out, {});
  });
  contribute(c, 3, dbias.shape(), [&](const Tensor& out) { copy(dbias, out); });
  const Shape& by_time = saved.x.shape();
  contribute(c, 0, {by_time[1], by_time[0], by_time[2]}, [&](const Tensor& out) {
    const Tensor dx = Tensor::empty(by_time);
    current_backend().dense_gradient_x(dsums, saved.kernel, as_matrix(dx));
    write_rows_first(dx, out);
  });
}

}  // namespace

Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            bool return_sequences) {
  check_operands(x, kernel, recurrent_kernel, bias);
  const Tensor input = dense_copy(x);
  const Tensor weights = dense_copy(kernel);
  const Tensor recurrent = dense_copy(recurrent_kernel);
  const Tensor shift = dense_copy(bias);
  const Saved saved = run(input, weights, recurrent, shift);
  Tensor y;
  if (return_sequences) {
    y = Tensor::empty({x.dim(0), x.dim(1), recurrent.dim(0)});
    write_rows_first(saved.h.slice_view(0, 1, saved.time() + 1), y);
  } else {
    y = Tensor::empty({x.dim(0), recurrent.dim(0)});
    copy(step_of(saved.h, saved.time()), y);
  }
  if (recording({input, weights, recurrent, shift}))
    record("lstm", {input, weights, recurrent, shift}, y,
           [saved](BackwardContext& c) { contribute_gradients(c, saved); });
  return y;
}

}  // namespace lockstep
