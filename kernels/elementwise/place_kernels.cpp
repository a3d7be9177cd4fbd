#include "lockstep/kernels/elementwise/place_kernels.h"

#include <type_traits>

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Elements that depend on their places.

namespace lockstep::kernels {

namespace detail {

template <class T>
struct RangeElement {
  double start, step, divisor, last;
  Index last_place;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const double value = i == last_place ? last : start + static_cast<double>(i) * step / divisor;
    if constexpr (!std::is_integral_v<T>)
      y[i] = static_cast<T>(static_cast<float>(value));
    else
      y[i] = static_cast<T>(value);
  }
};

struct AdaptivePlace {
  Index elements, least, results;
  std::int64_t* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index begin = i * elements / results;
    const Index end = ((i + 1) * elements + results - 1) / results;
    y[i] = end - begin > least ? elements - least + 1 + begin : begin;
  }
};

template <class T>
struct TriangleElement {
  const T* x;
  T* y;
  Divisor rows, columns;
  bool lower;
  Index diagonal;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index line = i / columns;
    const Index column = i - line * columns.value();
    const Index end = line - line / rows * rows.value() + diagonal;
    const bool kept = lower ? column <= end : column >= end;
    y[i] = kept ? x[i] : T{};
  }
};

}  // namespace detail

template <class Executor>
void Range::run(Executor& on) const {
  const Index last_place = last ? y.elements() - 1 : -1;
  visit_dtype(y.dtype(), [&]<class T>() {
    on.for_each(y.elements(), detail::RangeElement<T>{start, step, divisor, last.value_or(0), last_place, y.data<T>()});
  });
}

template <class Executor>
void AdaptivePlaces::run(Executor& on) const {
  on.for_each(y.elements(), detail::AdaptivePlace{elements, least, y.elements(), y.data<std::int64_t>()});
}

template <class Executor>
void Triangle::run(Executor& on) const {
  visit_dtype(x.dtype(), [&]<class T>() {
    on.for_each(x.elements(), detail::TriangleElement<T>{x.data<T>(), y.data<T>(), Divisor(x.dim(1)), Divisor(x.dim(2)),
                                                         lower, diagonal});
  });
}

LOCKSTEP_SHARED_KERNEL(Range)
LOCKSTEP_SHARED_KERNEL(AdaptivePlaces)
LOCKSTEP_SHARED_KERNEL(Triangle)

}  // namespace lockstep::kernels
