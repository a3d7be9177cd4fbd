#include "lockstep/kernels/sorting/sorting_kernels.h"

#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/kernels/sorting/sort_key.h>

// Sorting along the middle axis of (outer, n, inner): all elements are sorted at once, by column, then by value. A key
// has no room for a column and an element of 64 bits: these are sorted by their lower halves first, and then, since
// sorting is stable, by column and upper half.

namespace lockstep::kernels {

namespace detail {

/// Number of bits of an element's key that are sorted together with the column.
template <class T>
constexpr int bits_by_column = sort_key_bits<T> == 64 ? 32 : sort_key_bits<T>;

/// Sort keys of the elements at `places`, or of all elements in their order if it is null: the column's number in the
/// upper bits, the key of the value, or its upper half, in the lower bits.
template <class T>
struct ColumnKeys {
  const T* x;
  const std::int64_t* places;
  std::int64_t* keys;
  Index n, inner;
  SortDirection direction;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index at = places == nullptr ? i : places[i];
    const Index row = at / inner;
    const Index column = row / n * inner + (at - row * inner);
    const auto key = sort_key(x[at], direction) >> (sort_key_bits<T> - bits_by_column<T>);
    keys[i] = column << bits_by_column<T> | static_cast<std::int64_t>(key);
  }
};

/// Lower halves of the elements' keys.
struct LowerKeys {
  const std::int64_t* x;
  std::int64_t* keys;
  SortDirection direction;

  LOCKSTEP_HOST_DEVICE void operator()(Index at) const {
    keys[at] = static_cast<std::int64_t>(sort_key(x[at], direction) & 0xffffffffU);
  }
};

/// The places after two sorts.
struct ComposedPlaces {
  const std::int64_t* first;
  const std::int64_t* second;
  std::int64_t* places;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { places[i] = first[second[i]]; }
};

/// Positions of all elements, sorted by column, then by value.
template <class T, class Executor>
Tensor sorted_places(Executor& on, const Tensor& x, SortDirection direction) {
  const Tensor keys = Tensor::empty({x.elements()}, DType::i64);
  auto* const key = keys.data<std::int64_t>();
  const Index bound = x.dim(0) * x.dim(2) << bits_by_column<T>;
  ColumnKeys<T> by_column{x.data<T>(), nullptr, key, x.dim(1), x.dim(2), direction};
  if constexpr (sort_key_bits<T> < 64) {
    on.for_each(x.elements(), by_column);
    return on.sort(keys, bound).places;
  } else {
    on.for_each(x.elements(), LowerKeys{x.data<T>(), key, direction});
    const Tensor by_lower = on.sort(keys, Index{1} << 32).places;
    by_column.places = by_lower.data<std::int64_t>();
    on.for_each(x.elements(), by_column);
    const Tensor order = on.sort(keys, bound).places;
    on.for_each(x.elements(), ComposedPlaces{by_column.places, order.data<std::int64_t>(), key});
    return keys;
  }
}

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
  visit_dtype(x.dtype(), [&]<class T>() {
    const Tensor places = detail::sorted_places<T>(on, x, direction);
    const detail::FirstOfColumns<T> first{
        x.data<T>(), places.data<std::int64_t>(), values.data<T>(), indices.data<std::int64_t>(), n, indices.dim(1),
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
