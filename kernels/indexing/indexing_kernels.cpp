#include "lockstep/kernels/indexing/indexing_kernels.h"

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Numbers of elements from indices, and the reverse.

namespace lockstep::kernels {

namespace detail {

template <class T>
struct OneHotElement {
  const std::int64_t* ids;
  T* y;
  Divisor classes, inner;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = i / inner;
    const Index column = i - row * inner.value();
    const Index outer = row / classes;
    const bool hot = ids[outer * inner.value() + column] == row - outer * classes.value();
    y[i] = static_cast<T>(hot ? 1.0F : 0.0F);
  }
};

/// `index`, counted from the front; -1 if it is outside an axis of `size` elements.
LOCKSTEP_HOST_DEVICE inline Index from_front(Index index, Index size) {
  const Index result = index < 0 ? index + size : index;
  return result < 0 || result >= size ? -1 : result;
}

template <class Faults>
struct FlatIndex {
  const std::int64_t* indices;
  std::int64_t* flat;
  Index sizes[Shape::max_rank];
  int axes;
  Faults faults;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    Index sum = 0;
    bool outside = false;
    for (int axis = 0; axis < axes; ++axis) {
      const Index at = from_front(indices[i * axes + axis], sizes[axis]);
      outside = outside || at < 0;
      sum = sum * sizes[axis] + at;
    }
    flat[i] = outside ? 0 : sum;
    if (outside) faults(i);
  }
};

template <class Faults>
struct FlatIndexAlong {
  const std::int64_t* indices;
  std::int64_t* flat;
  Index size;
  Divisor n, inner;
  Faults faults;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = i / inner;
    const Index column = i - row * inner.value();
    const Index at = from_front(indices[i], size);
    flat[i] = at < 0 ? 0 : (row / n * size + at) * inner.value() + column;
    if (at < 0) faults(i);
  }
};

}  // namespace detail

template <class Executor>
void OneHot::run(Executor& on) const {
  visit_dtype(y.dtype(), [&]<class T>() {
    on.for_each(y.elements(),
                detail::OneHotElement<T>{ids.data<std::int64_t>(), y.data<T>(), Divisor(y.dim(1)), Divisor(y.dim(2))});
  });
}

template <class Executor>
std::int64_t FlatIndices::run(Executor& on) const {
  auto faults = on.faults("indices of flat_indices");
  detail::FlatIndex<decltype(faults)> f{
      indices.data<std::int64_t>(), flat.data<std::int64_t>(), {}, sizes.rank(), faults};
  for (int axis = 0; axis < sizes.rank(); ++axis) f.sizes[axis] = sizes[axis];
  on.for_each(flat.elements(), f);
  return on.first_fault(faults);
}

template <class Executor>
std::int64_t FlatIndicesAlong::run(Executor& on) const {
  auto faults = on.faults("indices of flat_indices_along");
  on.for_each(flat.elements(),
              detail::FlatIndexAlong<decltype(faults)>{indices.data<std::int64_t>(), flat.data<std::int64_t>(), size,
                                                       Divisor(flat.dim(1)), Divisor(flat.dim(2)), faults});
  return on.first_fault(faults);
}

LOCKSTEP_SHARED_KERNEL(OneHot)
LOCKSTEP_SHARED_KERNEL(FlatIndices)
LOCKSTEP_SHARED_KERNEL(FlatIndicesAlong)

}  // namespace lockstep::kernels
