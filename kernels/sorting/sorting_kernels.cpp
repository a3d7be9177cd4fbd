#include "lockstep/kernels/sorting/sorting_kernels.h"

#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/kernels/sorting/sort_key.h>

// Sorting along the middle axis of (outer, n, inner): all elements are sorted at once, by column, then by value.

namespace lockstep::kernels {

namespace detail {

/// Sort keys: the column's number in the upper bits, the key of the value in the lower bits.
template <class T>
struct ColumnKeys {
  const T* x;
  std::int64_t* keys;
  Index n, inner;
  SortDirection direction;

  LOCKSTEP_HOST_DEVICE void operator()(Index at) const {
    const Index row = at / inner;
    const Index column = row / n * inner + (at - row * inner);
    keys[at] = column << sort_key_bits<T> | static_cast<std::int64_t>(sort_key(x[at], direction));
  }
};

/// The first `count` elements of each column, from the sorted positions of the elements of all columns.
template <class T>
struct FirstOfColumns {
  const T* x;
  const std::int64_t* places;
  T* values;
  std::int64_t* indices;
  Index n, count, inner;

  LOCKSTEP_HOST_DEVICE void operator()(Index at) const {
    const Index row = at / inner;
    const Index outer = row / count;
    const Index column = outer * inner + (at - row * inner);
    const Index place = places[column * n + (row - outer * count)];
    values[at] = x[place];
    indices[at] = place / inner - outer * n;
  }
};

template <class T>
struct SortGradient {
  const T* dy;
  const std::int64_t* indices;
  T* dx;
  Index n, count, inner;

  LOCKSTEP_HOST_DEVICE void operator()(Index at) const {
    const Index row = at / inner;
    dx[(row / count * n + indices[at]) * inner + (at - row * inner)] = dy[at];
  }
};

}  // namespace detail

template <class Executor>
void SortMiddle::run(Executor& on) const {
  const Index n = x.dim(1);
  const Index inner = x.dim(2);
  visit_real(x.dtype(), [&]<class T>() {
    const Tensor keys = Tensor::empty({x.elements()}, DType::i64);
    on.for_each(x.elements(), detail::ColumnKeys<T>{x.data<T>(), keys.data<std::int64_t>(), n, inner, direction});
    const SortedKeys sorted = on.sort(keys, x.dim(0) * inner << sort_key_bits<T>);
    const detail::FirstOfColumns<T> first{x.data<T>(),
                                          sorted.places.data<std::int64_t>(),
                                          values.data<T>(),
                                          indices.data<std::int64_t>(),
                                          n,
                                          indices.dim(1),
                                          inner};
    on.for_each(indices.elements(), first);
  });
}

template <class Executor>
void SortMiddleGradient::run(Executor& on) const {
  if (dy.elements() < dx.elements()) Fill{dx, 0}.run(on);
  visit_real(dx.dtype(), [&]<class T>() {
    const detail::SortGradient<T> gradient{
        dy.data<T>(), indices.data<std::int64_t>(), dx.data<T>(), dx.dim(1), dy.dim(1), dx.dim(2)};
    on.for_each(dy.elements(), gradient);
  });
}

LOCKSTEP_SHARED_KERNEL(SortMiddle)
LOCKSTEP_SHARED_KERNEL(SortMiddleGradient)

}  // namespace lockstep::kernels
