#include "lockstep/kernels/recurrence/composed_recurrence.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/recurrence/recurrence.h>

namespace lockstep {
namespace {

/// One time step: the next state, from the input's part of the gates' sums and the previous state `h` (n, units).
using Step = std::function<Tensor(const Tensor& sums, const Tensor& h)>;

/// Throws InvalidArgument unless the bias is undefined or f32 of this shape.
void check_bias(const char* op, const Tensor& bias, const Shape& shape) {
  require(!bias.defined() || (bias.dtype() == DType::f32 && bias.shape() == shape),
          "{}: the bias must be f32 {}, got {}", op, shape, bias);
}

Tensor over_time(const Tensor& x, const Tensor& kernel, const Tensor& bias, std::int64_t units,
                 const RecurrenceOptions& options, const Step& step) {
  const std::int64_t n = x.dim(0);
  const std::int64_t time = x.dim(1);
  const Tensor sums = dense(reshape(x, {n * time, x.dim(2)}), kernel, bias);
  std::vector<Tensor> steps = split(reshape(sums, {n, time, kernel.dim(1)}), time, 1);
  if (options.go_backwards) std::ranges::reverse(steps);
  Tensor h = Tensor::zeros({n, units});
  std::vector<Tensor> results;
  for (const Tensor& of_step : steps) {
    h = step(reshape(of_step, {n, kernel.dim(1)}), h);
    if (options.return_sequences) results.push_back(reshape(h, {n, 1, units}));
  }
  return options.return_sequences ? concat(results, 1) : h;
}

Tensor gru_result(const Tensor& update, const Tensor& candidate, const Tensor& h) {
  return candidate + update * (h - candidate);
}

Tensor gru_reset_before(const Tensor& x, const Tensor& kernel, const Tensor& recurrent, const Tensor& bias,
                        const RecurrenceOptions& options) {
  const std::int64_t units = recurrent.dim(0);
  check_bias("gru", bias, {3 * units});
  const Tensor of_gates = dense_copy(slice(recurrent, 1, 0, 2 * units));
  const Tensor of_candidate = dense_copy(slice(recurrent, 1, 2 * units, 3 * units));
  return over_time(x, kernel, bias, units, options, [&](const Tensor& sums, const Tensor& h) {
    const std::vector<Tensor> from_x = split(sums, 3, 1);
    const std::vector<Tensor> from_h = split(dense(h, of_gates, {}), 2, 1);
    const Tensor update = activate(from_x[0] + from_h[0], options.recurrent_activation);
    const Tensor reset = activate(from_x[1] + from_h[1], options.recurrent_activation);
    return gru_result(update, activate(from_x[2] + dense(reset * h, of_candidate, {}), options.activation), h);
  });
}

}  // namespace

Tensor lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
            const RecurrenceOptions& options) try {
  recurrence::check_operands("lstm", 4, x, kernel, recurrent_kernel);
  check_bias("lstm", bias, {recurrent_kernel.dim(1)});
  const std::int64_t units = recurrent_kernel.dim(0);
  Tensor c = Tensor::zeros({x.dim(0), units});
  return over_time(x, kernel, bias, units, options, [&](const Tensor& sums, const Tensor& h) {
    const std::vector<Tensor> gates = split(sums + dense(h, recurrent_kernel, {}), 4, 1);
    const auto gate = [&](std::size_t i) { return activate(gates[i], options.recurrent_activation); };
    c = gate(1) * c + gate(0) * activate(gates[2], options.activation);
    return gate(3) * activate(c, options.activation);
  });
} catch (Error& error) {
  rethrow_from("lstm", error);
}

Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
           const RecurrenceOptions& options) try {
  recurrence::check_operands("gru", 3, x, kernel, recurrent_kernel);
  if (!options.reset_after) return gru_reset_before(x, kernel, recurrent_kernel, bias, options);
  const std::int64_t units = recurrent_kernel.dim(0);
  check_bias("gru", bias, {2, 3 * units});
  std::vector<Tensor> biases(2);
  if (bias.defined()) biases = split(bias, 2, 0);
  for (Tensor& row : biases)
    if (row.defined()) row = reshape(row, {3 * units});
  return over_time(x, kernel, biases[0], units, options, [&](const Tensor& sums, const Tensor& h) {
    const std::vector<Tensor> from_x = split(sums, 3, 1);
    const std::vector<Tensor> from_h = split(dense(h, recurrent_kernel, biases[1]), 3, 1);
    const Tensor update = activate(from_x[0] + from_h[0], options.recurrent_activation);
    const Tensor reset = activate(from_x[1] + from_h[1], options.recurrent_activation);
    return gru_result(update, activate(from_x[2] + reset * from_h[2], options.activation), h);
  });
} catch (Error& error) {
  rethrow_from("gru", error);
}

}  // namespace lockstep
