#include <optional>
#include <type_traits>

#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/executor/strided.h>
#include <lockstep/runtime/tensor/tensor.h>

// Copies of tensors at any strides, to the same or another dtype.

namespace lockstep::kernels {

namespace detail {

template <class To, class From>
struct Conversion {
  StridedIndex<2> index;
  const From* x;
  To* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const auto at = index(i);
    y[at.of[1]] = convert_element<To>(x[at.of[0]]);
  }
};

/// Copies elements of one type, `widest_access` bytes at a time.
struct WordCopy {
  StridedIndex<2> index;
  const Word<widest_access>* x;
  Word<widest_access>* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const auto at = index(i);
    y[at.of[1]] = x[at.of[0]];
  }
};

/// The loop over accesses of `pack` elements each; nullopt if the elements cannot be divided so.
inline std::optional<StridedLoop<2>> loop_of_words(StridedLoop<2> loop, Index pack) {
  const int inner = loop.inner_axis();
  if (loop.inner_size() % pack != 0) return std::nullopt;
  loop.shape[inner] /= pack;
  for (Shape& strides : loop.strides) {
    if (strides[inner] != 1) return std::nullopt;
    for (int axis = 0; axis < inner; ++axis) {
      if (strides[axis] % pack != 0) return std::nullopt;
      strides[axis] /= pack;
    }
  }
  return loop;
}

/// y = x at any strides.
template <class T, class Executor>
void strided_copy(Executor& on, const StridedLoop<2>& loop, const Tensor& x, const Tensor& y) {
  constexpr int pack = pack_of<T>;
  std::optional<StridedLoop<2>> words;
  if (in_packs<pack, T>({x.data<T>(), y.data<T>()})) words = loop_of_words(loop, pack);
  if (!words) return on.for_each(y.elements(), Conversion<T, T>{StridedIndex<2>(loop), x.data<T>(), y.data<T>()});
  using Whole = Word<widest_access>;
  on.for_each(y.elements() / pack, WordCopy{StridedIndex<2>(*words), static_cast<const Whole*>(x.raw_data()),
                                            static_cast<Whole*>(y.raw_data())});
}

/// A word of y's rows from x's, or zeros.
template <int bytes>
struct FittedWords {
  const Word<bytes>* x;
  Word<bytes>* y;
  Index rows;                ///< of x
  Index x_columns, columns;  ///< in words; of x and y

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = i / columns;
    const Index column = i - row * columns;
    Word<bytes> word{};
    if (row < rows && column < x_columns) word = x[row * x_columns + column];
    y[i] = word;
  }
};

/// FitMatrix in words of `bytes` bytes or, where rows do not consist of such words, in narrower ones.
template <int bytes, class Executor>
void fit_words(Executor& on, const Tensor& x, const Tensor& y) {
  const auto element = static_cast<Index>(size_of(x.dtype()));
  const Index x_bytes = x.dim(1) * element;
  const Index y_bytes = y.dim(1) * element;
  const auto* const from = static_cast<const Word<bytes>*>(x.raw_data());
  auto* const to = static_cast<Word<bytes>*>(y.raw_data());
  if constexpr (bytes > size_of(DType::bf16))
    if (x_bytes % bytes != 0 || y_bytes % bytes != 0 || !in_packs<1, Word<bytes>>({from, to}))
      return fit_words<bytes / 2>(on, x, y);
  on.for_each(y.dim(0) * (y_bytes / bytes), FittedWords<bytes>{from, to, x.dim(0), x_bytes / bytes, y_bytes / bytes});
}

struct Same {
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x; }
};

}  // namespace detail

template <class Executor>
void Convert::run(Executor& on) const {
  const StridedLoop<2> loop(y.shape(), {x.strides(), y.strides()});
  visit_dtype(x.dtype(), [&]<class From>() {
    if (y.dtype() == x.dtype()) return detail::strided_copy<From>(on, loop, x, y);
    visit_dtype(y.dtype(), [&]<class To>() {
      // Tensors between layers of two dtype policies are dense.
      if constexpr (is_real(dtype_of<From>) && is_real(dtype_of<To>))
        if (x.is_dense() && y.is_dense())
          return detail::map(on, detail::Same{}, detail::DenseOperands<1, To, From>(y, x));
      on.for_each(y.elements(), detail::Conversion<To, From>{StridedIndex<2>(loop), x.data<From>(), y.data<To>()});
    });
  });
}

template <class Executor>
void FitMatrix::run(Executor& on) const {
  detail::fit_words<widest_access>(on, x, y);
}

LOCKSTEP_SHARED_KERNEL(Convert)
LOCKSTEP_SHARED_KERNEL(FitMatrix)

}  // namespace lockstep::kernels
