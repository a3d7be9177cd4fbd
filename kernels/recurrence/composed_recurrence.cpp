#include "lockstep/kernels/recurrence/composed_recurrence.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/recurrence/recurrence.h>

namespace lockstep {
namespace {

/// One time step: the next states, from the input's part of the gates' sums and the previous states.
using Step = std::function<RecurrentStates(const Tensor& sums, const RecurrentStates& before)>;

/// Throws InvalidArgument unless the bias is undefined or f32 of this shape.
void check_bias(const char* op, const Tensor& bias, const Shape& shape) {
  require(!bias.defined() || (bias.dtype() == DType::f32 && bias.shape() == shape),
          "{}: the bias must be f32 {}, got {}", op, shape, bias);
}

/// Throws InvalidArgument unless the factors are undefined or f32 (n, gates or 1, inputs).
void check_factors(const char* op, const Tensor& factors, std::int64_t n, std::int64_t gates, std::int64_t inputs) {
  const auto fits = [&](std::int64_t count) { return factors.shape() == Shape{n, count, inputs}; };
  require(!factors.defined() || (factors.dtype() == DType::f32 && (fits(gates) || fits(1))),
          "{}: the factors of dropout must be f32 {}, or 1 as second size, got {}", op, Shape{n, gates, inputs},
          factors);
}

void check_operands(const char* op, int gates, const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel,
                    const RecurrentDropout& dropout, const RecurrentStates& initial) {
  recurrence::check_operands(op, gates, x, kernel, recurrent_kernel);
  recurrence::check_state(op, "h", initial.h, x, recurrent_kernel);
  recurrence::check_state(op, "c", initial.c, x, recurrent_kernel);
  check_factors(op, dropout.input, x.dim(0), gates, x.dim(2));
  check_factors(op, dropout.state, x.dim(0), gates, recurrent_kernel.dim(0));
}

/// The products of inputs with a kernel of several gates, after dropout.
class Products {
 public:
  /// `factors`: as in RecurrentDropout.
  Products(const Tensor& kernel, const Tensor& factors, std::int64_t gates) : kernels_{kernel} {
    if (!factors.defined()) return;
    factors_ = split(factors, factors.dim(1), 1);
    if (factors.dim(1) == 1 || gates == 1) return;
    kernels_ = split(kernel, gates, 1);
    for (Tensor& of_gate : kernels_) of_gate = dense_copy(of_gate);
  }

  /// x (n, steps, k) -> (n, steps, columns of the kernel).
  Tensor operator()(const Tensor& x, const Tensor& bias) const {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const Tensor factored = factors_.empty() ? x : x * factors_[i];
      const Tensor rows = reshape(factored, {x.dim(0) * x.dim(1), x.dim(2)});
      const Tensor part = dense(rows, kernels_[i], kernels_.size() == 1 ? bias : Tensor());
      parts.push_back(reshape(part, {x.dim(0), x.dim(1), kernels_[i].dim(1)}));
    }
    if (parts.size() == 1) return parts[0];
    const Tensor sums = concatenate(parts, -1);
    return bias.defined() ? sums + bias : sums;
  }

  /// h (n, k) -> (n, columns of the kernel).
  Tensor of_state(const Tensor& h, const Tensor& bias = {}) const {
    const Tensor sums = (*this)(reshape(h, {h.dim(0), 1, h.dim(1)}), bias);
    return reshape(sums, {h.dim(0), sums.dim(2)});
  }

 private:
  std::vector<Tensor> kernels_;
  std::vector<Tensor> factors_{};  ///< (n, 1, k) for each kernel; empty without dropout
};

/// Steps from `state`. `sums`: the products with the input in all steps.
RecurrentStates over_time(const Tensor& sums, std::int64_t units, const RecurrenceOptions& options,
                          RecurrentStates state, const Step& step) {
  const std::int64_t n = sums.dim(0);
  std::vector<Tensor> steps = split(sums, sums.dim(1), 1);
  if (options.go_backwards) std::ranges::reverse(steps);
  if (!state.h.defined()) state.h = Tensor::zeros({n, units});
  std::vector<Tensor> h;
  std::vector<Tensor> c;
  for (const Tensor& of_step : steps) {
    state = step(reshape(of_step, {n, sums.dim(2)}), state);
    if (!options.return_sequences) continue;
    h.push_back(reshape(state.h, {n, 1, units}));
    if (state.c.defined()) c.push_back(reshape(state.c, {n, 1, units}));
  }
  if (!options.return_sequences) return state;
  return {.h = concatenate(h, 1), .c = c.empty() ? Tensor() : concatenate(c, 1)};
}

Tensor gru_result(const Tensor& update, const Tensor& candidate, const Tensor& h) {
  return candidate + update * (h - candidate);
}

RecurrentStates gru_reset_before(const Tensor& x, const Tensor& kernel, const Tensor& recurrent, const Tensor& bias,
                                 const RecurrenceOptions& options, const RecurrentDropout& dropout,
                                 const RecurrentStates& initial) {
  const std::int64_t units = recurrent.dim(0);
  check_bias("gru", bias, {3 * units});
  const bool by_gate = dropout.state.defined() && dropout.state.dim(1) == 3;
  const auto factors = [&](std::int64_t begin, std::int64_t end) {
    return by_gate ? slice(dropout.state, 1, begin, end) : dropout.state;
  };
  const Products of_gates(dense_copy(slice(recurrent, 1, 0, 2 * units)), factors(0, 2), 2);
  const Products of_candidate(dense_copy(slice(recurrent, 1, 2 * units, 3 * units)), factors(2, 3), 1);
  const Tensor from_input = Products(kernel, dropout.input, 3)(x, bias);
  return over_time(
      from_input, units, options, {.h = initial.h}, [&](const Tensor& sums, const RecurrentStates& before) {
        const Tensor& h = before.h;
        const std::vector<Tensor> from_x = split(sums, 3, 1);
        const std::vector<Tensor> from_h = split(of_gates.of_state(h), 2, 1);
        const Tensor update = activate(from_x[0] + from_h[0], options.recurrent_activation);
        const Tensor reset = activate(from_x[1] + from_h[1], options.recurrent_activation);
        const Tensor candidate = activate(from_x[2] + of_candidate.of_state(reset * h), options.activation);
        return RecurrentStates{.h = gru_result(update, candidate, h)};
      });
}

}  // namespace

RecurrentStates lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                     const RecurrenceOptions& options, const RecurrentDropout& dropout,
                     const RecurrentStates& initial) try {
  check_operands("lstm", 4, x, kernel, recurrent_kernel, dropout, initial);
  check_bias("lstm", bias, {recurrent_kernel.dim(1)});
  const std::int64_t units = recurrent_kernel.dim(0);
  const Products of_states(recurrent_kernel, dropout.state, 4);
  const Tensor from_input = Products(kernel, dropout.input, 4)(x, bias);
  const RecurrentStates first{.h = initial.h, .c = initial.c.defined() ? initial.c : Tensor::zeros({x.dim(0), units})};
  return over_time(from_input, units, options, first, [&](const Tensor& sums, const RecurrentStates& before) {
    const std::vector<Tensor> gates = split(sums + of_states.of_state(before.h), 4, 1);
    const auto gate = [&](std::size_t i) { return activate(gates[i], options.recurrent_activation); };
    const Tensor c = gate(1) * before.c + gate(0) * activate(gates[2], options.activation);
    return RecurrentStates{.h = gate(3) * activate(c, options.activation), .c = c};
  });
} catch (Error& error) {
  rethrow_from("lstm", error);
}

RecurrentStates gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                    const RecurrenceOptions& options, const RecurrentDropout& dropout,
                    const RecurrentStates& initial) try {
  check_operands("gru", 3, x, kernel, recurrent_kernel, dropout, initial);
  if (!options.reset_after) return gru_reset_before(x, kernel, recurrent_kernel, bias, options, dropout, initial);
  const std::int64_t units = recurrent_kernel.dim(0);
  check_bias("gru", bias, {2, 3 * units});
  std::vector<Tensor> biases(2);
  if (bias.defined()) biases = split(bias, 2, 0);
  for (Tensor& row : biases)
    if (row.defined()) row = reshape(row, {3 * units});
  const Products of_states(recurrent_kernel, dropout.state, 3);
  const Tensor from_input = Products(kernel, dropout.input, 3)(x, biases[0]);
  return over_time(from_input, units, options, {.h = initial.h},
                   [&](const Tensor& sums, const RecurrentStates& before) {
                     const std::vector<Tensor> from_x = split(sums, 3, 1);
                     const std::vector<Tensor> from_h = split(of_states.of_state(before.h, biases[1]), 3, 1);
                     const Tensor update = activate(from_x[0] + from_h[0], options.recurrent_activation);
                     const Tensor reset = activate(from_x[1] + from_h[1], options.recurrent_activation);
                     const Tensor candidate = activate(from_x[2] + reset * from_h[2], options.activation);
                     return RecurrentStates{.h = gru_result(update, candidate, before.h)};
                   });
} catch (Error& error) {
  rethrow_from("gru", error);
}

RecurrentStates simple_rnn(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                           const RecurrenceOptions& options, const RecurrentDropout& dropout,
                           const RecurrentStates& initial) try {
  check_operands("simple_rnn", 1, x, kernel, recurrent_kernel, dropout, initial);
  const std::int64_t units = recurrent_kernel.dim(0);
  check_bias("simple_rnn", bias, {units});
  const Products of_states(recurrent_kernel, dropout.state, 1);
  const Tensor from_input = Products(kernel, dropout.input, 1)(x, bias);
  return over_time(from_input, units, options, {.h = initial.h},
                   [&](const Tensor& sums, const RecurrentStates& before) {
                     return RecurrentStates{.h = activate(sums + of_states.of_state(before.h), options.activation)};
                   });
} catch (Error& error) {
  rethrow_from("simple_rnn", error);
}

}  // namespace lockstep
