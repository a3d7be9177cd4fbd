#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include <lockstep/kernels/common/cross_entropy.h>
#include <lockstep/kernels/common/dropout.h>
#include <lockstep/kernels/common/elementwise.h>
#include <lockstep/kernels/common/philox.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/grid/packs.h>
#include <lockstep/kernels/grid/strided.h>
#include <lockstep/kernels/losses/losses_kernels.h>
#include <lockstep/kernels/op_kinds.h>
#include <lockstep/kernels/random/random_kernels.h>
#include <lockstep/runtime/tensor/tensor.h>

// The element-wise functions of Backend.

namespace lockstep::kernels {

namespace detail {

/// y[i] = f(x[0][i], x[1][i], ...), computed in f32, a pack of elements at a time; y may be one of the x.
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

/// f, which is of f32, as a function of T.
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

template <class T>
struct Filled {
  T* x;
  T value;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { x[i] = value; }
};

/// Four elements from one block of random words.
template <class T>
struct Dropout {
  DropoutRule rule;
  RandomSequence sequence;
  const T* x;
  T* y;
  Index n;

  LOCKSTEP_HOST_DEVICE void operator()(Index four) const {
    const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(four));
    for (int l = 0; l < 4; ++l)
      if (const Index i = four * 4 + l; i < n) y[i] = static_cast<T>(rule(static_cast<float>(x[i]), random.word[l]));
  }
};

}  // namespace detail

template <class Executor>
void Unary::run(Executor& on) const {
  visit_real(y.dtype(), [&]<class T>() { visit_unary(function, [&](auto f) { detail::map<T>(on, f, y, x); }); });
}

template <class Executor>
void UnaryGradient::run(Executor& on) const {
  visit_real(dx.dtype(), [&]<class T>() {
    visit_unary(function, [&](auto f) { detail::map<T>(on, detail::Gradient<decltype(f)>{f}, dx, kept, dy); });
  });
}

template <class Executor>
void Binary::run(Executor& on) const {
  const bool dense = a.is_dense() && b.is_dense() && out.is_dense();
  visit_real(out.dtype(), [&]<class T>() {
    visit_binary(op, [&](auto f) {
      if (dense)
        detail::map<T>(on, f, out, a, b);
      else
        detail::strided_binary<T>(on, detail::InF32<T, decltype(f)>{f}, a, b, out);
    });
  });
}

template <class Executor>
void Affine::run(Executor& on) const {
  visit_real(y.dtype(), [&]<class T>() { detail::map<T>(on, functor::Affine{.scale = scale, .shift = shift}, y, x); });
}

template <class Executor>
void Accumulate::run(Executor& on) const {
  if (is_real(out.dtype())) return Binary{sign > 0 ? BinaryOp::add : BinaryOp::subtract, out, x, out}.run(on);
  visit_dtype(out.dtype(), [&]<class T>() {
    detail::strided_binary<T>(on, functor::Accumulate<T>{.subtract = sign < 0}, out, x, out);
  });
}

template <class Executor>
void Fill::run(Executor& on) const {
  visit_real(x.dtype(), [&]<class T>() {
    on.for_each(x.elements(), detail::Filled<T>{x.data<T>(), static_cast<T>(value)});
  });
}

template <class Executor>
void MovingAverage::run(Executor& on) const {
  detail::map<float>(on, functor::MovingAverage{.momentum = momentum}, average, average, value);
}

template <class Executor>
void Dropout::run(Executor& on) const {
  const Index n = y.elements();
  visit_real(y.dtype(), [&]<class T>() {
    on.for_each((n + 3) / 4, detail::Dropout<T>{DropoutRule(rate), RandomSequence(key), x.data<T>(), y.data<T>(), n});
  });
}

template <class Executor>
void BinaryCrossEntropy::run(Executor& on) const {
  if (from_logits)
    detail::map<float>(on, BinaryCrossEntropyFromLogits{}, loss, x, targets);
  else
    detail::map<float>(on, BinaryCrossEntropyFromProbabilities{}, loss, x, targets);
}

template <class Executor>
void BinaryCrossEntropyGradient::run(Executor& on) const {
  if (from_logits)
    detail::map<float>(on, detail::Gradient<BinaryCrossEntropyFromLogits>{}, dx, x, targets, dloss);
  else
    detail::map<float>(on, detail::Gradient<BinaryCrossEntropyFromProbabilities>{}, dx, x, targets, dloss);
}

}  // namespace lockstep::kernels
