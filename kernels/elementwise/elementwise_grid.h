#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include <lockstep/kernels/elementwise/elementwise_functions.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/strided.h>
#include <lockstep/runtime/tensor/tensor.h>

// Function objects and launch helpers for element-wise kernels (conversion, comparison, arithmetic, losses).

namespace lockstep::kernels {

namespace detail {

// Operands are prepared before a functor is visited, so that this code is compiled once and not for every functor.

/// Dense operands x and y. y may be one of the x if To and From have the same size.
template <int N, class To, class From = To>
struct DenseOperands {
  static constexpr int pack = std::min(pack_of<To>, pack_of<From>);

  template <class... X>
  explicit DenseOperands(const Tensor& result, const X&... operands)
      : x{operands.template data<From>()...},
        y(result.data<To>()),
        n(result.elements()),
        packed(in_packs<pack, To>({y}) && in_packs<pack, From>({operands.template data<From>()...})) {}

  const From* x[N];
  To* y;
  Index n;
  bool packed;
};

/// y[i] = f(x[0][i], x[1][i], ...), computed in f32, one pack of elements at a time.
template <class F, int N, class To, class From>
struct Map {
  static constexpr int pack = DenseOperands<N, To, From>::pack;

  F f;
  DenseOperands<N, To, From> of;

  LOCKSTEP_HOST_DEVICE void operator()(Index number) const { run(number * pack, std::make_index_sequence<N>()); }

  template <std::size_t... K>
  LOCKSTEP_HOST_DEVICE void run(Index first, std::index_sequence<K...>) const {
    const bool whole = of.packed && first + pack <= of.n;
    float in[N][pack];
    float out[pack];
    (load(of.x[K], first, whole, in[K]), ...);
    for (int l = 0; l < pack; ++l) out[l] = f(in[K][l]...);
    if (whole) return store_pack(out, of.y + first);
    for (int l = 0; l < pack && first + l < of.n; ++l) of.y[first + l] = static_cast<To>(out[l]);
  }

  LOCKSTEP_HOST_DEVICE void load(const From* from, Index first, bool whole, float (&to)[pack]) const {
    if (whole) return load_pack(from + first, to);
    for (int l = 0; l < pack; ++l) to[l] = first + l < of.n ? static_cast<float>(from[first + l]) : 0.0F;
  }
};

template <class Executor, class F, int N, class To, class From>
void map(Executor& on, const F& f, const DenseOperands<N, To, From>& of) {
  on.for_each((of.n + of.pack - 1) / of.pack, Map<F, N, To, From>{f, of});
}

/// f.gradient as a function object.
template <class F>
struct Gradient {
  F f;
  template <class... X>
  LOCKSTEP_HOST_DEVICE float operator()(X... x) const {
    return f.gradient(x...);
  }
};

/// The f32 function f as a function object for T: converts the arguments to f32 and the result to T.
template <class T, class F>
struct InF32 {
  F f;
  template <class... X>
  LOCKSTEP_HOST_DEVICE T operator()(X... x) const {
    return static_cast<T>(f(static_cast<float>(x)...));
  }
};

/// Operands x and y of any strides. y may be one of the x if To and From have the same size, x and y have the same
/// strides, and nothing is broadcast.
template <int N, class To, class From = To>
struct StridedOperands {
  template <class... X>
  explicit StridedOperands(const Tensor& result, const X&... operands)
      : index(StridedLoop<N + 1>(result.shape(), {operands.strides()..., result.strides()})),
        x{operands.template data<From>()...},
        y(result.data<To>()),
        n(result.elements()) {}

  StridedIndex<N + 1> index;
  const From* x[N];
  To* y;
  Index n;
};

/// y = f(x[0], x[1], ...).
template <class F, int N, class To, class From>
struct StridedMap {
  F f;
  StridedOperands<N, To, From> of;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { run(of.index(i), std::make_index_sequence<N>()); }

  template <class Offsets, std::size_t... K>
  LOCKSTEP_HOST_DEVICE void run(const Offsets& at, std::index_sequence<K...>) const {
    of.y[at.of[N]] = f(of.x[K][at.of[K]]...);
  }
};

template <class Executor, class F, int N, class To, class From>
void strided_map(Executor& on, const F& f, const StridedOperands<N, To, From>& of) {
  on.for_each(of.n, StridedMap<F, N, To, From>{f, of});
}

template <class T>
struct Filled {
  T* x;
  T value;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { x[i] = value; }
};

}  // namespace detail

template <class Executor>
void Fill::run(Executor& on) const {
  visit_dtype(x.dtype(), [&]<class T>() {
    on.for_each(x.elements(), detail::Filled<T>{x.data<T>(), convert_element<T>(value)});
  });
}

}  // namespace lockstep::kernels
