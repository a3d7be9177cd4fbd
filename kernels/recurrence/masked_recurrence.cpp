#include "lockstep/kernels/recurrence/masked_recurrence.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep {
namespace {

/// y[i, j, :] = x[i, steps[i, j], :] of x (n, time, k) and steps (n, m), i64.
Tensor take_steps(const Tensor& x, const Tensor& steps) {
  const std::int64_t n = x.dim(0);
  const std::int64_t time = x.dim(1);
  const Tensor first_rows =
      reshape(arange(0, static_cast<double>(n * time), static_cast<double>(time), DType::i64), {n, 1});
  return take(reshape(x, {n * time, x.dim(2)}), steps + first_rows, 0);
}

}  // namespace

MaskedRecurrenceResult masked_recurrence(const Tensor& x, const Tensor& mask, const MaskedRecurrenceOptions& options,
                                         const std::function<RecurrentStates(const Tensor& x)>& recurrence) try {
  require(x.defined() && x.rank() == 3 && x.dim(1) >= 1, "masked_recurrence takes x (n, time, features), got {}", x);
  require(mask.defined() && mask.dtype() == DType::boolean && mask.shape() == Shape{x.dim(0), x.dim(1)},
          "masked_recurrence over {} takes a mask of bool {}, got {}", x, Shape{x.dim(0), x.dim(1)}, mask);
  const std::int64_t time = x.dim(1);
  const Tensor unmasked = cast(mask, DType::f32);
  const Tensor order = argsort(unmasked, 1, SortDirection::descending);  // equal elements keep their order
  const RecurrentStates steps = recurrence(take_steps(x, order));
  const Tensor counts = cumsum(unmasked, 1);  // of unmasked steps up to each step
  const bool only_sequences = options.return_sequences && !options.return_state;
  const Tensor all = only_sequences ? Tensor() : slice(counts, 1, time - 1, time);
  const auto last_of = [](const Tensor& counted) { return cast(maximum(counted - 1, 0), DType::i64); };
  const Tensor& shown = options.return_sequences ? counts : all;
  const Tensor& shown_mask = options.return_sequences ? mask : slice(mask, 1, time - 1, time);
  const Tensor kept = options.zero_output_for_mask ? shown_mask : greater(shown, 0);
  const Tensor y = where(expand_dims(kept, -1), take_steps(steps.h, last_of(shown)), 0);
  MaskedRecurrenceResult result{.y = options.return_sequences ? y : squeeze(y, {1})};
  if (!options.return_state) return result;
  const auto state = [&](const Tensor& of_steps, const Tensor& initial) {
    if (!of_steps.defined()) return Tensor();
    const Tensor last = squeeze(take_steps(of_steps, last_of(all)), {1});
    return initial.defined() ? where(greater(all, 0), last, initial) : where(greater(all, 0), last, 0);
  };
  result.states = {.h = state(steps.h, options.initial.h), .c = state(steps.c, options.initial.c)};
  return result;
} catch (Error& error) {
  rethrow_from("masked_recurrence", error);
}

}  // namespace lockstep
