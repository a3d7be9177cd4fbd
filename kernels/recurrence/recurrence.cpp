#include "lockstep/kernels/recurrence/recurrence.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>

namespace lockstep::recurrence {
void check_operands(const char* op, int gates, const Tensor& x, const Tensor& kernel, const Tensor& recurrent) {
  require(x.defined() && x.rank() == 3 && x.dtype() == DType::f32 && x.dim(1) >= 1 && x.dim(2) >= 1,
          "{}: x must be f32 (n, time, features), got {}", op, x);
  require(recurrent.defined() && recurrent.rank() == 2 && recurrent.dtype() == DType::f32 && recurrent.dim(0) >= 1 &&
              recurrent.dim(1) == gates * recurrent.dim(0),
          "{}: the recurrent kernel must be f32 (units, {} units), got {}", op, gates, recurrent);
  require(kernel.defined() && kernel.dtype() == DType::f32 && kernel.shape() == Shape{x.dim(2), recurrent.dim(1)},
          "{}: the kernel for x {} and recurrent kernel {} must be f32 ({}, {}), got {}", op, x.shape(),
          recurrent.shape(), x.dim(2), recurrent.dim(1), kernel);
}

void check_state(const char* op, const char* name, const Tensor& state, const Tensor& x,
                 const Tensor& recurrent_kernel) {
  const Shape shape{x.dim(0), recurrent_kernel.dim(0)};
  require(!state.defined() || (state.dtype() == DType::f32 && state.shape() == shape),
          "{}: the initial state {} for x {} must be f32 {}, got {}", op, name, x.shape(), shape, state);
}

void stop_recording_gradient(BackwardContext& c) {
  c.stop_recording("use the op with RecurrenceOptions (composed_recurrence.h), as layers without a bias do");
}

Tensor step_of(const Tensor& x, std::int64_t s) { return x.slice_view(0, s, s + 1).view({x.dim(1), x.dim(2)}); }

Tensor as_matrix(const Tensor& x) { return x.view({x.dim(0) * x.dim(1), x.dim(2)}); }

Tensor time_first(const Tensor& x) {
  const Tensor result = Tensor::empty({x.dim(1), x.dim(0), x.dim(2)});
  launch(kernels::Convert{x.transposed_view(), result});
  return result;
}

void write_rows_first(const Tensor& x, const Tensor& out) { launch(kernels::Convert{x.transposed_view(), out}); }

Tensor states(std::int64_t steps, std::int64_t n, std::int64_t units, const Tensor& initial) {
  const Tensor result = Tensor::empty({steps, n, units});
  if (initial.defined())
    copy(initial, step_of(result, 0));
  else
    launch(kernels::Fill{step_of(result, 0), 0});
  return result;
}

Tensor result_of(const Tensor& steps, bool return_sequences) {
  const std::int64_t time = steps.dim(0);
  const std::int64_t n = steps.dim(1);
  const std::int64_t units = steps.dim(2);
  const Tensor y = Tensor::empty(return_sequences ? Shape{n, time, units} : Shape{n, units});
  if (return_sequences)
    write_rows_first(steps, y);
  else
    copy(step_of(steps, time - 1), y);
  return y;
}

void add_gradient_of_result(const Tensor& dy, std::int64_t s, std::int64_t time, const Tensor& dh) {
  if (!dy.defined()) return;
  if (dy.rank() == 3)
    accumulate(dy.slice_view(1, s, s + 1), dh.view({dh.dim(0), 1, dh.dim(1)}));
  else if (s == time - 1)
    accumulate(dy, dh);
}

void sum_rows(const Tensor& dsums, const Tensor& dbias) {
  launch(kernels::SumMiddle{dsums.view({1, dsums.dim(0), dsums.dim(1)}), dbias.view({1, dsums.dim(1)})});
}

}  // namespace lockstep::recurrence
