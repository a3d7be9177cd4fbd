#include "lockstep/kernels/elementwise/comparison_kernels.h"

#include <lockstep/kernels/elementwise/comparison_functions.h>
#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/executor/shared_kernel.h>

namespace lockstep::kernels {

namespace detail {

template <class T>
struct Selection {
  StridedIndex<4> index;
  const bool* condition;
  const T* a;
  const T* b;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const auto at = index(i);
    y[at.of[3]] = condition[at.of[0]] ? a[at.of[1]] : b[at.of[2]];
  }
};

}  // namespace detail

template <class Executor>
void Compare::run(Executor& on) const {
  visit_dtype(a.dtype(), [&]<class T>() {
    const detail::StridedOperands<2, bool, T> operands(out, a, b);
    visit_comparison(op, [&](auto f) { detail::strided_map(on, f, operands); });
  });
}

template <class Executor>
void Select::run(Executor& on) const {
  const StridedIndex<4> index(
      StridedLoop<4>(out.shape(), {condition.strides(), a.strides(), b.strides(), out.strides()}));
  visit_dtype(out.dtype(), [&]<class T>() {
    on.for_each(out.elements(),
                detail::Selection<T>{index, condition.data<bool>(), a.data<T>(), b.data<T>(), out.data<T>()});
  });
}

LOCKSTEP_SHARED_KERNEL(Compare)
LOCKSTEP_SHARED_KERNEL(Select)

}  // namespace lockstep::kernels
