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

/// y[i] = f(x[0][i], x[1][i], ...), computed in f32, one pack of elements at a time. y may be one of the x if To and
/// From have the same size.
template <int N, class To, class From, class F>
struct Map {
  static constexpr int pack = std::min(pack_of<To>, pack_of<From>);

  F f;
  const From* x[N];
  To* y;
  Index n;
  bool packed;

  LOCKSTEP_HOST_DEVICE void operator()(Index number) const { run(number * pack, std::make_index_sequence<N>()); }

  template <std::size_t... K>
  LOCKSTEP_HOST_DEVICE void run(Index first, std::index_sequence<K...>) const {
    if (packed && first + pack <= n) {
      float in[N][pack];
      float out[pack];
      (load_pack(x[K] + first, in[K]), ...);
      for (int l = 0; l < pack; ++l) out[l] = f(in[K][l]...);
      store_pack(out, y + first);
    } else {
      for (Index i = first; i < n && i < first + pack; ++i) y[i] = static_cast<To>(f(static_cast<float>(x[K][i])...));
    }
  }
};

template <class To, class From = To, class Executor, class F, class... X>
void map(Executor& on, const F& f, const Tensor& y, const X&... x) {
  using Kernel = Map<sizeof...(X), To, From, F>;
  constexpr int pack = Kernel::pack;
  To* const to = y.data<To>();
  const Index n = y.elements();
  const bool packed = in_packs<pack, To>({to}) && in_packs<pack, From>({x.template data<From>()...});
  on.for_each((n + pack - 1) / pack, Kernel{f, {x.template data<From>()...}, to, n, packed});
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

/// y = f(x[0], x[1], ...) for tensors of any strides. y may be one of the x if To and From have the same size, x and y
/// have the same strides, and nothing is broadcast.
template <int N, class To, class From, class F>
struct StridedMap {
  F f;
  StridedIndex<N + 1> index;
  const From* x[N];
  To* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { run(index(i), std::make_index_sequence<N>()); }

  template <class Offsets, std::size_t... K>
  LOCKSTEP_HOST_DEVICE void run(const Offsets& at, std::index_sequence<K...>) const {
    y[at.of[N]] = f(x[K][at.of[K]]...);
  }
};

template <class To, class From = To, class Executor, class F, class... X>
void strided_map(Executor& on, const F& f, const Tensor& y, const X&... x) {
  constexpr int n = sizeof...(X);
  const StridedIndex<n + 1> index(StridedLoop<n + 1>(y.shape(), {x.strides()..., y.strides()}));
  on.for_each(y.elements(), StridedMap<n, To, From, F>{f, index, {x.template data<From>()...}, y.data<To>()});
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
