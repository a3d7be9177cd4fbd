#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// What recurrent ops share. Time is the first axis of all that they keep: what belongs to one step is dense then, and
// what belongs to all steps is one matrix. The products with the input, and the gradients of both kernels, are single
// matrix products over all steps; only what a step takes from the one before it is computed step by step. These helpers
// record nothing on tapes.

/// What lstm and gru have in common.
namespace lockstep::recurrence {

/// Throws InvalidArgument unless x is (n, time, features), kernel (features, gates * units) and recurrent_kernel
/// (units, gates * units), all f32.
void check_operands(const char* op, int gates, const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel);

/// Step `s` of (time, n, k) as (n, k).
Tensor step_of(const Tensor& x, std::int64_t s);
/// All steps of (time, n, k) as one matrix (time * n, k).
Tensor as_matrix(const Tensor& x);
/// (n, time, k) -> (time, n, k).
Tensor time_first(const Tensor& x);
/// Writes x (time, n, k) into out (n, time, k).
void write_rows_first(const Tensor& x, const Tensor& out);
/// (steps, n, units) whose first step is 0 and whose others are not yet written.
Tensor states(std::int64_t steps, std::int64_t n, std::int64_t units);
/// The op's result from the states (time + 1, n, units), the first of which is the one before the first step: all the
/// others as (n, time, units), or the last one (n, units).
Tensor result_of(const Tensor& states, bool return_sequences);
/// Adds to dh (n, units) what the result's gradient dy says of step `s` of `time`.
void add_gradient_of_result(const Tensor& dy, std::int64_t s, std::int64_t time, const Tensor& dh);
/// dbias (k) = sum of the rows of dsums (m, k).
void sum_rows(const Tensor& dsums, const Tensor& dbias);

}  // namespace lockstep::recurrence
