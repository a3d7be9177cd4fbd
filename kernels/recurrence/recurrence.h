#pragma once

#include <cstdint>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/tensor/tensor.h>

// Functions shared by the recurrent ops. The tensors that these ops keep have time as their first axis: each step is
// then dense, and all steps together form one matrix. The products with the input and the gradients of both kernels are
// single matrix products over all steps; only the dependence on the previous step is computed step by step. These
// helpers record nothing on tapes.

/// Functions shared by lstm and gru.
namespace lockstep::recurrence {

/// Minimum number of units per CPU thread; a unit needs several exponentials.
inline constexpr std::int64_t units_per_thread = 2048;

/// Throws InvalidArgument unless x is (n, time, features), kernel (features, gates * units) and recurrent_kernel
/// (units, gates * units), all f32.
void check_operands(const char* op, int gates, const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel);
/// Throws InvalidArgument unless the initial state `name` is undefined or f32 (n, units).
void check_state(const char* op, const char* name, const Tensor& state, const Tensor& x,
                 const Tensor& recurrent_kernel);

/// Calls c.stop_recording: gradients contributed from now on cannot be differentiated.
void stop_recording_gradient(BackwardContext& c);
/// Step `s` of (time, n, k) as (n, k).
Tensor step_of(const Tensor& x, std::int64_t s);
/// All steps of (time, n, k) as one matrix (time * n, k).
Tensor as_matrix(const Tensor& x);
/// Copies x (n, time, k) to (time, n, k).
Tensor time_first(const Tensor& x);
/// Writes x (time, n, k) into out (n, time, k).
void write_rows_first(const Tensor& x, const Tensor& out);
/// (steps, n, units), f32: the first step is `initial`, or 0 if that is undefined; the others are uninitialized.
Tensor states(std::int64_t steps, std::int64_t n, std::int64_t units, const Tensor& initial);
/// Makes the op's result from h after each step, (time, n, units): all steps as (n, time, units) with
/// `return_sequences`, else the last step (n, units).
Tensor result_of(const Tensor& steps, bool return_sequences);
/// Adds to dh (n, units) the part of the result's gradient dy that belongs to step `s` of `time`; adds nothing if dy is
/// undefined.
void add_gradient_of_result(const Tensor& dy, std::int64_t s, std::int64_t time, const Tensor& dh);
/// dbias (k) = sum of the rows of dsums (m, k).
void sum_rows(const Tensor& dsums, const Tensor& dbias);

}  // namespace lockstep::recurrence
