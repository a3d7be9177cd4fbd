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

// Shared by the element-wise kernels of several families.

namespace lockstep::kernels {

namespace detail {

/// y[i] = f(x[0][i], x[1][i], ...), computed in f32, one pack of elements at a time. y may equal one of the x.
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

/// f.gradient as a function.
template <class F>
struct Gradient {
  F f;
  template <class... X>
  LOCKSTEP_HOST_DEVICE float operator()(X... x) const {
    return f.gradient(x...);
  }
};

/// The f32 function f as a function of T.
template <class T, class F>
struct InF32 {
  F f;
  LOCKSTEP_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(f(static_cast<float>(a), static_cast<float>(b)));
  }
};

/// out = f(a, b) at any strides.
template <class T, class F>
struct StridedBinary {
  F f;
  StridedIndex<3> index;
  const T* a;
  const T* b;
  T* out;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const auto at = index(i);
    out[at.of[2]] = f(a[at.of[0]], b[at.of[1]]);
  }
};

template <class T, class Executor, class F>
void strided_binary(Executor& on, const F& f, const Tensor& a, const Tensor& b, const Tensor& out) {
  const StridedIndex<3> index(StridedLoop<3>(out.shape(), {a.strides(), b.strides(), out.strides()}));
  on.for_each(out.elements(), StridedBinary<T, F>{f, index, a.data<T>(), b.data<T>(), out.data<T>()});
}

/// out = f(a, b, c) in f32, at any strides.
template <class T, class F>
struct StridedTernary {
  F f;
  StridedIndex<4> index;
  const T* a;
  const T* b;
  const T* c;
  T* out;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const auto at = index(i);
    out[at.of[3]] = static_cast<T>(
        f(static_cast<float>(a[at.of[0]]), static_cast<float>(b[at.of[1]]), static_cast<float>(c[at.of[2]])));
  }
};

template <class T, class Executor, class F>
void strided_ternary(Executor& on, const F& f, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& out) {
  const StridedIndex<4> index(StridedLoop<4>(out.shape(), {a.strides(), b.strides(), c.strides(), out.strides()}));
  on.for_each(out.elements(), StridedTernary<T, F>{f, index, a.data<T>(), b.data<T>(), c.data<T>(), out.data<T>()});
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
  visit_real(x.dtype(), [&]<class T>() {
    on.for_each(x.elements(), detail::Filled<T>{x.data<T>(), static_cast<T>(value)});
  });
}

}  // namespace lockstep::kernels
