#include "lockstep/kernels/matmul/matmul_kernels.h"

#include <type_traits>

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/executor/strided.h>
#include <lockstep/kernels/executor/wrapping.h>

namespace lockstep::kernels {

namespace detail {

/// An element of y: the sum of the products of a row of a and a column of b, or whether one of the products is true.
template <class T>
struct RowTimesColumn {
  StridedIndex<3> index;  ///< of the first elements of the row and the column, and of the element of y
  const T* a;
  const T* b;
  T* y;
  Index terms, a_step, b_step;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const auto at = index(i);
    const T* of_row = a + at.of[0];
    const T* of_column = b + at.of[1];
    Wrapping<T> sum{};
    for (Index k = 0; k < terms; ++k, of_row += a_step, of_column += b_step) {
      if constexpr (std::is_same_v<T, bool>)
        sum = sum || (*of_row && *of_column);
      else
        sum = static_cast<Wrapping<T>>(sum + static_cast<Wrapping<T>>(*of_row) * static_cast<Wrapping<T>>(*of_column));
    }
    y[at.of[2]] = static_cast<T>(sum);
  }
};

/// The strides of x (..., rows, columns) over the elements of y, which share a row of x if `of_rows`, else a column.
inline Shape strides_over(const Tensor& y, const Tensor& x, bool of_rows) {
  Shape shape = y.shape();
  shape[shape.rank() - 2] = x.dim(-2);
  shape[shape.rank() - 1] = x.dim(-1);
  Shape strides = x.broadcast_view(shape).strides();
  strides[shape.rank() - (of_rows ? 1 : 2)] = 0;
  return strides;
}

}  // namespace detail

template <class Executor>
void IntegerMatmul::run(Executor& on) const {
  const StridedLoop<3> loop(y.shape(),
                            {detail::strides_over(y, a, true), detail::strides_over(y, b, false), y.strides()});
  visit_dtype(y.dtype(), [&]<class T>() {
    if constexpr (!is_real(dtype_of<T>))
      on.for_each(y.elements(), detail::RowTimesColumn<T>{StridedIndex<3>(loop), a.data<T>(), b.data<T>(), y.data<T>(),
                                                          a.dim(-1), a.strides().dim(-1), b.strides().dim(-2)});
  });
}

LOCKSTEP_SHARED_KERNEL(IntegerMatmul)

}  // namespace lockstep::kernels
