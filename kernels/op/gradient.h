#pragma once

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/autograd/tape.h>

// Functions with which an op's backward function contributes gradients to the tape.

namespace lockstep {

/// to += gradient, on the device of `to`.
inline void accumulate(const Tensor& gradient, const Tensor& to) {
  const ContextScope there(context_on(to.device()));
  launch(kernels::Binary{BinaryOp::add, to, reachable_from(to.device(), gradient), to});
}

/// Call this before contributing a gradient that kernels have written, because tapes cannot differentiate it
/// (BackwardContext::stop_recording).
inline void stop_recording(BackwardContext& c) {
  c.stop_recording("compute it with ops (contribute_ops in gradient.h)");
}

/// a + b; tapes record the addition.
inline Tensor sum_of_contributions(const Tensor& a, const Tensor& b);

/// Makes `gradient` the first dense contribution to input `input` and adds the rows contributed so far to it
/// (contribute_rows). If the caller of backward gave a destination, the contribution is stored there. Precondition:
/// nothing else reads or writes `gradient`.
inline void set_first(BackwardContext& c, int input, const Tensor& gradient) {
  const Tensor destination = c.destination(input);
  const bool elsewhere = destination.defined() && destination.raw_data() != gradient.raw_data();
  if (elsewhere) assign(gradient, destination);
  const Tensor& first = elsewhere ? destination : gradient;
  if (const IndexedSlices& rows = c.rows(input); rows.values.defined()) {
    scatter_add(rows, first);
    c.set_rows(input, {});
  }
  c.set(input, first, true);
}

/// Returns dense memory for a contribution to input `input`. If this is the first contribution and the current device
/// can reach the destination that the caller of backward gave, returns that destination, else new memory on the current
/// device. Calls stop_recording.
inline Tensor memory_for(BackwardContext& c, int input, const Shape& shape, DType dtype = DType::f32) {
  stop_recording(c);
  const Tensor destination = c.contributed(input).defined() ? Tensor() : c.destination(input);
  const bool in_place = destination.defined() && is_reachable(destination, current_context().device);
  return in_place ? destination : Tensor::empty(shape, dtype);
}

/// Contributes `gradient` to input `input`. Calls stop_recording. Precondition: nothing else reads or writes
/// `gradient`, as with memory from memory_for.
inline void hand_over(BackwardContext& c, int input, const Tensor& gradient) {
  stop_recording(c);
  const Tensor so_far = c.contributed(input);
  if (!so_far.defined()) return set_first(c, input, gradient);
  if (c.owns_contributed(input)) return accumulate(gradient, so_far);
  accumulate(so_far, gradient);
  c.set(input, gradient, true);
}

/// Contributes a gradient of `shape` and `dtype` to input `input`: compute(out) writes it to `out`, which memory_for
/// returned. Does not call compute if the gradient is not needed.
template <class Compute>
void contribute(BackwardContext& c, int input, const Shape& shape, Compute compute, DType dtype = DType::f32) {
  if (!c.needs(input)) return;
  const Tensor gradient = memory_for(c, input, shape, dtype);
  compute(gradient);
  hand_over(c, input, gradient);
}

/// Like contribute, for a compute(write, out) that can also add to `out`. If other ops have contributed before, compute
/// adds to their sum, which saves a pass over memory.
template <class Compute>
void contribute_or_add(BackwardContext& c, int input, const Shape& shape, Compute compute, DType dtype = DType::f32) {
  if (!c.needs(input)) return;
  const Tensor so_far = c.contributed(input);
  const bool can_add = so_far.defined() && c.owns_contributed(input) && so_far.is_dense() && so_far.dtype() == dtype &&
                       is_reachable(so_far, current_context().device);
  if (can_add) return compute(Write::add, so_far);
  contribute(
      c, input, shape, [&](const Tensor& out) { compute(Write::replace, out); }, dtype);
}

/// Contributes f32 zeros of `shape` to input `input`, which must be f32. Contributes nothing if there are earlier
/// contributions or if the caller of backward gave a destination. A caller that gave one gets an undefined gradient if
/// no other op contributes (GradientTape::FinalHook).
inline void contribute_zero(BackwardContext& c, int input, const Shape& shape) {
  if (!c.needs(input) || c.contributed(input).defined() || c.destination(input).defined()) return;
  contribute(c, input, shape, [](const Tensor& out) { launch(kernels::Fill{out, 0}); });
}

/// Contributes a tensor that other code may also read, such as the output's gradient or a view of it. It must have the
/// input's shape and may have any strides. Copies the tensor only if the caller of backward gave a destination or there
/// are earlier contributions. If a tape records the backward pass (BackwardContext::is_recorded), the tensor must be
/// the result of ops that tapes record.
inline void pass_on(BackwardContext& c, int input, const Tensor& gradient) {
  if (!c.needs(input)) return;
  const Tensor so_far = c.contributed(input);
  if (c.is_recorded()) return c.set(input, so_far.defined() ? sum_of_contributions(so_far, gradient) : gradient, false);
  if (!so_far.defined() && !c.destination(input).defined() && !c.rows(input).values.defined())
    c.set(input, gradient, false);
  else if (so_far.defined() && c.owns_contributed(input))
    accumulate(gradient, so_far);
  else
    contribute(
        c, input, gradient.shape(),
        [&](const Tensor& out) {
          launch(kernels::Convert{gradient, out});
        },
        gradient.dtype());
}

inline Tensor sum_of_contributions(const Tensor& a, const Tensor& b) {
  const ContextScope there(context_on(a.device()));
  const Tensor sum = Tensor::empty(a.shape(), a.dtype());
  launch(kernels::Convert{a, sum});
  accumulate(b, sum);
  record("add", {a, b}, sum, [](BackwardContext& c) {
    pass_on(c, 0, c.gradient(0));
    pass_on(c, 1, c.gradient(0));
  });
  return sum;
}

/// Contributes compute()'s result, which must satisfy the requirements of pass_on. Does not call compute if the
/// gradient is not needed.
template <class Compute>
void contribute_ops(BackwardContext& c, int input, Compute compute) {
  if (c.needs(input)) pass_on(c, input, compute());
}

/// Like contribute, for a gradient that is a linear function of the gradient of output 0 and depends on no other tensor
/// that tapes track: compute(dx) writes it to dx. If a tape records the backward pass, it records the computation of dx
/// as a linear op. The gradient of that op is op(d), where d is the gradient with respect to dx, and `op` is the
/// forward op or its linear part.
template <class Compute, class Op>
void contribute_linear(BackwardContext& c, int input, const Shape& shape, Compute compute, Op op,
                       DType dtype = DType::f32) {
  if (!c.is_recorded()) return contribute(c, input, shape, compute, dtype);
  if (!c.needs(input)) return;
  const Tensor dx = Tensor::empty(shape, dtype);
  compute(dx);
  record(c.op(), {c.gradient(0)}, dx,
         [op](BackwardContext& of_dx) { contribute_ops(of_dx, 0, [&] { return op(of_dx.gradient(0)); }); });
  pass_on(c, input, dx);
}

/// Contributes the gradients of an op's first inputs, `inputs`, when a tape records the backward pass. composed(inputs)
/// computes the op's result with ops that tapes can differentiate; the gradients are computed through these ops. `dy`:
/// the gradient of the result.
template <class Composed>
void contribute_composed(BackwardContext& c, const std::vector<Tensor>& inputs, const Tensor& dy, Composed composed) {
  GradientTape tape;
  std::vector<int> wanted;
  std::vector<Tensor> sources;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (!c.needs(i)) continue;
    wanted.push_back(i);
    sources.push_back(inputs[static_cast<std::size_t>(i)]);
    tape.watch(sources.back());
  }
  if (wanted.empty()) return;
  const std::vector<Tensor> gradients = tape.gradient(composed(inputs), sources, dy);
  for (std::size_t i = 0; i < wanted.size(); ++i) pass_on(c, wanted[i], gradients[i]);
}

/// Sets `out` to 0 and adds `rows`.
inline void add_to_zeros(const IndexedSlices& rows, const Tensor& out) {
  launch(kernels::Fill{out, 0});
  scatter_add(rows, out);
}

/// Contributes a gradient to input `input` that is 0 except in `rows`.
inline void contribute_rows(BackwardContext& c, int input, const IndexedSlices& rows) {
  if (!c.needs(input)) return;
  if (c.takes_rows(input)) return c.set_rows(input, joined(c.rows(input), rows));
  if (c.contributed(input).defined() && c.owns_contributed(input)) return scatter_add(rows, c.contributed(input));
  contribute(
      c, input, rows.dense_shape, [&](const Tensor& out) { add_to_zeros(rows, out); }, rows.values.dtype());
}

}  // namespace lockstep
