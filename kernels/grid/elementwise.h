#pragma once

#include <utility>

#include <lockstep/kernels/common/cross_entropy.h>
#include <lockstep/kernels/common/dropout.h>
#include <lockstep/kernels/common/elementwise.h>
#include <lockstep/kernels/common/philox.h>
#include <lockstep/kernels/grid/fours.h>
#include <lockstep/kernels/grid/strided.h>
#include <lockstep/runtime/tensor/tensor.h>

// The element-wise functions of Backend.

namespace lockstep::grid {

namespace detail {

/// y[i] = f(x[0][i], x[1][i], ...), four elements at a time; y may be one of the x.
template <int N, class F>
struct Map {
  F f;
  const float* x[N];
  float* y;
  Index n;
  bool fours;

  LOCKSTEP_HOST_DEVICE void operator()(Index four) const { run(four * 4, std::make_index_sequence<N>()); }

  template <std::size_t... K>
  LOCKSTEP_HOST_DEVICE void run(Index first, std::index_sequence<K...>) const {
    if (fours && first + 4 <= n) {
      float in[N][4];
      float out[4];
      (load_four(x[K] + first, in[K]), ...);
      for (int l = 0; l < 4; ++l) out[l] = f(in[K][l]...);
      store_four(out, y + first);
    } else {
      for (Index i = first; i < n && i < first + 4; ++i) y[i] = f(x[K][i]...);
    }
  }
};

template <class Executor, class F, class... X>
void map(Executor& on, const F& f, const Tensor& y, const X&... x) {
  float* const to = y.data<float>();
  const Index n = y.elements();
  const bool fours = in_fours({to, x.template data<float>()...});
  on.for_each((n + 3) / 4, Map<sizeof...(X), F>{f, {x.template data<float>()...}, to, n, fours});
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

/// Four elements from one block of random words.
struct Dropout {
  DropoutRule rule;
  RandomSequence sequence;
  const float* x;
  float* y;
  Index n;

  LOCKSTEP_HOST_DEVICE void operator()(Index four) const {
    const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(four));
    for (int l = 0; l < 4; ++l)
      if (const Index i = four * 4 + l; i < n) y[i] = rule(x[i], random.word[l]);
  }
};

}  // namespace detail

template <class Executor>
void unary(Executor& on, const UnaryFunction& function, const Tensor& x, const Tensor& y) {
  visit_unary(function, [&](auto f) { detail::map(on, f, y, x); });
}

template <class Executor>
void unary_gradient(Executor& on, const UnaryFunction& function, const Tensor& kept, const Tensor& dy,
                    const Tensor& dx) {
  visit_unary(function, [&](auto f) { detail::map(on, detail::Gradient<decltype(f)>{f}, dx, kept, dy); });
}

template <class Executor>
void binary(Executor& on, BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  visit_binary(op, [&](auto f) {
    if (a.is_dense() && b.is_dense() && out.is_dense())
      detail::map(on, f, out, a, b);
    else
      detail::strided_binary<float>(on, f, a, b, out);
  });
}

template <class Executor>
void affine(Executor& on, const Tensor& x, float scale, float shift, const Tensor& y) {
  detail::map(on, functor::Affine{.scale = scale, .shift = shift}, y, x);
}

template <class Executor>
void accumulate(Executor& on, const Tensor& x, int sign, const Tensor& out) {
  if (out.dtype() == DType::f32) return binary(on, sign > 0 ? BinaryOp::add : BinaryOp::subtract, out, x, out);
  visit_dtype(out.dtype(), [&]<class T>() {
    detail::strided_binary<T>(on, functor::Accumulate<T>{.subtract = sign < 0}, out, x, out);
  });
}

template <class Executor>
void convert(Executor& on, const Tensor& x, const Tensor& y) {
  const StridedIndex<2> index(StridedLoop<2>(y.shape(), {x.strides(), y.strides()}));
  visit_dtype(x.dtype(), [&]<class From>() {
    visit_dtype(y.dtype(), [&]<class To>() {
      on.for_each(y.elements(), detail::Conversion<To, From>{index, x.data<From>(), y.data<To>()});
    });
  });
}

template <class Executor>
void fill(Executor& on, const Tensor& x, float value) {
  float* const to = x.data<float>();
  on.for_each(x.elements(), [=] LOCKSTEP_HOST_DEVICE(Index i) { to[i] = value; });
}

template <class Executor>
void moving_average(Executor& on, const Tensor& average, const Tensor& value, float momentum) {
  detail::map(on, functor::MovingAverage{.momentum = momentum}, average, average, value);
}

template <class Executor>
void dropout(Executor& on, const Tensor& x, float rate, const RandomKey& key, const Tensor& y) {
  const Index n = y.elements();
  on.for_each((n + 3) / 4,
              detail::Dropout{DropoutRule(rate), RandomSequence(key), x.data<float>(), y.data<float>(), n});
}

template <class Executor>
void binary_cross_entropy(Executor& on, bool from_logits, const Tensor& x, const Tensor& targets, const Tensor& loss) {
  if (from_logits)
    detail::map(on, BinaryCrossEntropyFromLogits{}, loss, x, targets);
  else
    detail::map(on, BinaryCrossEntropyFromProbabilities{}, loss, x, targets);
}

template <class Executor>
void binary_cross_entropy_gradient(Executor& on, bool from_logits, const Tensor& x, const Tensor& targets,
                                   const Tensor& dloss, const Tensor& dx) {
  if (from_logits)
    detail::map(on, detail::Gradient<BinaryCrossEntropyFromLogits>{}, dx, x, targets, dloss);
  else
    detail::map(on, detail::Gradient<BinaryCrossEntropyFromProbabilities>{}, dx, x, targets, dloss);
}

}  // namespace lockstep::grid
