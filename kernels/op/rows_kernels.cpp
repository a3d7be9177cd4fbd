#include "lockstep/kernels/op/rows_kernels.h"

#include <type_traits>

#include <lockstep/kernels/elementwise/binary_functions.h>
#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Gathering rows by index, and writing or adding rows by index.

namespace lockstep::kernels {

namespace detail {

/// Where an element of (outer, n, inner) is.
struct PlaceInRows {
  Index outer, i, column;
};

/// The sizes n and inner of (outer, n, inner).
struct RowSizes {
  Divisor n, inner;

  LOCKSTEP_HOST_DEVICE PlaceInRows operator()(Index element) const {
    const Index at = element / inner;
    const Index outer = at / n;
    return {outer, at - outer * n.value(), element - at * inner.value()};
  }
};

template <class T, class Faults>
struct GatheredRows {
  const T* x;
  const std::int64_t* indices;
  T* y;
  Index rows;
  RowSizes sizes;
  Faults faults;

  LOCKSTEP_HOST_DEVICE void operator()(Index element) const {
    const PlaceInRows at = sizes(element);
    const Index row = indices[at.i];
    if (row >= 0 && row < rows)
      y[element] = x[(at.outer * rows + row) * sizes.inner.value() + at.column];
    else if (at.column == 0)
      faults(at.i);
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

/// Writes or adds rows in the order of their sorted indices. One thread for each column and each position in the sorted
/// list: the thread at the first position of a row reads all of the row's values, in order.
template <class T>
struct ScatteredRows {
  const T* values;
  const std::int64_t* sorted;
  const std::int64_t* places;
  bool adds;
  T* out;
  Index n, rows;
  RowSizes sizes;

  LOCKSTEP_HOST_DEVICE void operator()(Index element) const {
    using Sum = std::conditional_t<std::is_integral_v<T>, T, float>;
    const PlaceInRows place = sizes(element);
    Index at = place.i;
    const Index row = sorted[at];
    if (row == rows || (at > 0 && sorted[at - 1] == row)) return;
    const Index width = sizes.inner.value();
    T& to = out[(place.outer * rows + row) * width + place.column];
    auto result = static_cast<Sum>(to);
    for (; at < n && sorted[at] == row; ++at) {
      const auto value = static_cast<Sum>(values[(place.outer * n + places[at]) * width + place.column]);
      result = adds ? functor::Add()(result, value) : value;
    }
    to = static_cast<T>(result);
  }
};

}  // namespace detail

template <class Executor>
std::int64_t GatherRows::run(Executor& on) const {
  auto faults = on.faults("ids of gather_rows");
  const detail::RowSizes sizes{Divisor(y.dim(1)), Divisor(y.dim(2))};
  visit_dtype(x.dtype(), [&]<class T>() {
    const detail::GatheredRows<T, decltype(faults)> gather{
        x.data<T>(), indices.data<std::int64_t>(), y.data<T>(), x.dim(1), sizes, faults};
    on.for_each(y.elements(), gather);
  });
  return on.first_fault(faults);
}

template <class Executor>
std::int64_t ScatterRows::run(Executor& on) const {
  const Index n = indices.elements();
  const Index rows = out.dim(1);
  auto faults = on.faults("indices of scatter_rows");
  const Tensor checked = Tensor::empty({n}, DType::i64);
  auto* const keys = checked.data<std::int64_t>();
  on.for_each(n, detail::CheckedRows<decltype(faults)>{indices.data<std::int64_t>(), keys, rows, faults});
  const SortedKeys sorted = on.sort(checked, rows + 1);
  const detail::RowSizes sizes{Divisor(n), Divisor(out.dim(2))};
  visit_addable(out.dtype(), [&]<class T>() {
    const detail::ScatteredRows<T> scatter{values.data<T>(),
                                           sorted.keys.data<std::int64_t>(),
                                           sorted.places.data<std::int64_t>(),
                                           write == Write::add,
                                           out.data<T>(),
                                           n,
                                           rows,
                                           sizes};
    on.for_each(values.elements(), scatter);
  });
  return on.first_fault(faults);
}

LOCKSTEP_SHARED_KERNEL(GatherRows)
LOCKSTEP_SHARED_KERNEL(ScatterRows)

}  // namespace lockstep::kernels
