#include "lockstep/kernels/scan/scan_kernels.h"

#include <type_traits>

#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/shared_kernel.h>

// Running sums along the middle axis of (outer, n, inner). A long axis is divided into parts, depending only on the
// shape: the sums of the parts are computed first, then each part starts from the sum of the parts before it.

namespace lockstep::kernels {

namespace detail {

/// Elements in the order of addition.
template <class T>
struct OrderedElements : SumOf<typename CumulativeSumOf<T>::type> {
  using Sum = typename CumulativeSumOf<T>::type;

  const T* x;
  Index n, inner;
  bool reverse;

  LOCKSTEP_HOST_DEVICE Index place(Index o, Index i, Index k) const {
    return (o * n + (reverse ? n - 1 - i : i)) * inner + k;
  }
  LOCKSTEP_HOST_DEVICE Sum load(Index o, Index i, Index k) const { return static_cast<Sum>(x[place(o, i, k)]); }
};

/// Arguments of the running sums. `sums` (outer, parts, inner) is only read if there are several parts.
template <class T>
struct RunningSums {
  using Sum = typename CumulativeSumOf<T>::type;

  OrderedElements<T> elements;
  T* y;
  bool exclusive;
  Index parts, chunk;
  const Sum* sums;

  /// One past the last element of a part.
  LOCKSTEP_HOST_DEVICE Index end(Index part) const {
    const Index all = (part + 1) * chunk;
    return all < elements.n ? all : elements.n;
  }
  LOCKSTEP_HOST_DEVICE void store(Index o, Index i, Index k, Sum before, Sum through) const {
    y[elements.place(o, i, k)] = static_cast<T>(exclusive ? before : through);
  }
};

/// A team computes a part of a row, where inner is 1.
template <class T>
struct RowPartSums : RunningSums<T> {
  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row_part) const {
    using Sum = typename CumulativeSumOf<T>::type;
    const auto add = [](Sum a, Sum b) { return a + b; };
    const Index row = row_part / this->parts;
    const Index part = row_part - row * this->parts;
    const Index first = part * this->chunk;
    const Sum* const sums = this->sums + row * this->parts;
    const Sum earlier = team.reduce(
        part, Sum{}, [=](Index i) { return sums[i]; }, add);
    team.scan(
        this->end(part) - first, Sum{}, [&](Index i) { return this->elements.load(row, first + i, 0); }, add,
        [&](Index i, Sum before, Sum through) { this->store(row, first + i, 0, earlier + before, earlier + through); });
  }
};

/// A thread computes a part of a column; threads that are neighbors along inner read neighboring elements.
template <class T>
struct ColumnPartSums : RunningSums<T> {
  LOCKSTEP_HOST_DEVICE void operator()(Index at) const {
    const Index inner = this->elements.inner;
    const Index outer_part = at / inner;
    const Index k = at - outer_part * inner;
    const Index o = outer_part / this->parts;
    const Index part = outer_part - o * this->parts;
    typename CumulativeSumOf<T>::type sum{};
    for (Index i = 0; i < part; ++i) sum += this->sums[(o * this->parts + i) * inner + k];
    for (Index i = part * this->chunk; i < this->end(part); ++i) {
      const auto before = sum;
      sum += this->elements.load(o, i, k);
      this->store(o, i, k, before, sum);
    }
  }
};

template <class T>
struct RunningProductsOfRow {
  const T* x;
  T* y;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    using Factor = typename CumulativeSumOf<T>::type;
    using Product = std::conditional_t<std::is_same_v<Factor, float>, double, Factor>;
    const Index first = row * n;
    team.scan(
        n, Product{1}, [=, this](Index i) { return static_cast<Product>(static_cast<Factor>(x[first + i])); },
        [](Product a, Product b) { return a * b; },
        [=, this](Index i, Product, Product through) { y[first + i] = static_cast<T>(static_cast<Factor>(through)); });
  }
};

}  // namespace detail

template <class Executor>
void CumulativeProduct::run(Executor& on) const {
  if (x.elements() == 0) return;
  visit_cumsum(x.dtype(), [&]<class T>() {
    on.teams(x.dim(0), x.dim(1), detail::RunningProductsOfRow<T>{x.data<T>(), y.data<T>(), x.dim(1)});
  });
}

template <class Executor>
void CumulativeSum::run(Executor& on) const {
  if (x.elements() == 0) return;
  const Index outer = x.dim(0);
  const Index n = x.dim(1);
  const Index inner = x.dim(2);
  const Index parts = middle_parts(outer, n, inner);
  const Index chunk = (n + parts - 1) / parts;
  visit_cumsum(x.dtype(), [&]<class T>() {
    using Sum = typename CumulativeSumOf<T>::type;
    const Index bytes = outer * parts * inner * static_cast<Index>(sizeof(Sum));
    const Tensor scratch = Tensor::empty({parts == 1 ? 0 : bytes}, DType::u8);
    auto* const sums = static_cast<Sum*>(scratch.raw_data());
    const detail::OrderedElements<T> elements{{}, x.data<T>(), n, inner, reverse};
    const detail::RunningSums<T> running{elements, y.data<T>(), exclusive, parts, chunk, sums};
    if (parts > 1) {
      using PartSums = detail::PartReduction<detail::OrderedElements<T>>;
      detail::reduce_whole(on, outer * parts, chunk, inner, PartSums{elements, n, inner, parts, chunk, sums});
    }
    if (inner == 1)
      on.teams(outer * parts, chunk, detail::RowPartSums<T>{running});
    else
      on.for_each(outer * parts * inner, detail::ColumnPartSums<T>{running});
  });
}

LOCKSTEP_SHARED_KERNEL(CumulativeSum)
LOCKSTEP_SHARED_KERNEL(CumulativeProduct)

}  // namespace lockstep::kernels
