#include "lockstep/kernels/op/rows_kernels.h"

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Gathering rows by index, and adding rows by index.

namespace lockstep::kernels {

namespace detail {

template <class Faults>
struct GatheredRows {
  const float* x;
  const std::int64_t* indices;
  float* y;
  Index rows, width;
  Faults faults;

  LOCKSTEP_HOST_DEVICE void operator()(Index element) const {
    const Index i = element / width;
    const Index column = element - i * width;
    const Index row = indices[i];
    if (row >= 0 && row < rows)
      y[element] = x[row * width + column];
    else if (column == 0)
      faults(i);
  }
};

/// The indices to sort. An index out of range becomes `rows`, which sorts after all others.
template <class Faults>
struct CheckedRows {
  const std::int64_t* indices;
  std::int64_t* checked;
  Index rows;
  Faults faults;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const bool outside = indices[i] < 0 || indices[i] >= rows;
    checked[i] = outside ? rows : indices[i];
    if (outside && indices[i] != no_row) faults(i);
  }
};

/// Adds rows in the order of their sorted indices. One thread for each column and each position in the sorted list: the
/// thread at the first position of a row adds all of the row's values, in order.
template <class T>
struct ScatteredRows {
  const T* values;
  const std::int64_t* sorted;
  const std::int64_t* places;
  T* out;
  Index n, rows, width;

  LOCKSTEP_HOST_DEVICE void operator()(Index element) const {
    Index at = element / width;
    const Index column = element - at * width;
    const Index row = sorted[at];
    if (row == rows || (at > 0 && sorted[at - 1] == row)) return;
    T sum = out[row * width + column];
    for (; at < n && sorted[at] == row; ++at)
      sum = T(static_cast<float>(sum) + static_cast<float>(values[places[at] * width + column]));
    out[row * width + column] = sum;
  }
};

}  // namespace detail

template <class Executor>
std::int64_t GatherRows::run(Executor& on) const {
  auto faults = on.faults("ids of gather_rows");
  const detail::GatheredRows<decltype(faults)> gather{
      x.data<float>(), indices.data<std::int64_t>(), y.data<float>(), x.dim(0), x.dim(1), faults};
  on.for_each(y.elements(), gather);
  return on.first_fault(faults);
}

template <class Executor>
std::int64_t ScatterAddRows::run(Executor& on) const {
  const Index n = indices.elements();
  const Index rows = out.dim(0);
  const Index width = out.dim(1);
  auto faults = on.faults("indices of scatter_add_rows");
  const Tensor checked = Tensor::empty({n}, DType::i64);
  auto* const keys = checked.data<std::int64_t>();
  on.for_each(n, detail::CheckedRows<decltype(faults)>{indices.data<std::int64_t>(), keys, rows, faults});
  const SortedKeys sorted = on.sort(checked, rows + 1);
  const auto add = [&]<class T>() {
    const detail::ScatteredRows<T> scatter{values.data<T>(),
                                           sorted.keys.data<std::int64_t>(),
                                           sorted.places.data<std::int64_t>(),
                                           out.data<T>(),
                                           n,
                                           rows,
                                           width};
    on.for_each(n * width, scatter);
  };
  if (out.dtype() == DType::bf16)
    add.template operator()<bfloat16>();
  else
    add.template operator()<float>();
  return on.first_fault(faults);
}

LOCKSTEP_SHARED_KERNEL(GatherRows)
LOCKSTEP_SHARED_KERNEL(ScatterAddRows)

}  // namespace lockstep::kernels
