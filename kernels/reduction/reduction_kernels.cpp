#include "lockstep/kernels/reduction/reduction_kernels.h"

#include <cstdint>
#include <limits>
#include <type_traits>

#include <lockstep/kernels/elementwise/elementwise_functions.h>
#include <lockstep/kernels/executor/elements.h>
#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/reduction/reduce_functions.h>

namespace lockstep::kernels {

namespace detail {

template <class T>
struct MiddleSum : SumOf<double> {
  const T* x;
  RealElements y;
  Index n, inner;

  LOCKSTEP_HOST_DEVICE double load(Index o, Index i, Index k) const {
    return static_cast<float>(x[(o * n + i) * inner + k]);
  }
  LOCKSTEP_HOST_DEVICE void finish(Index o, Index k, double sum) const {
    y.set(o * inner + k, static_cast<float>(sum));
  }
};

/// Reduces by F::combine of reduce_functions.h, real numbers in f64, truth values as 0 and 1.
template <class F, class T>
struct MiddleReduction {
  static constexpr bool of_reals = is_real(dtype_of<T>);
  using Number = std::conditional_t<of_reals, double, T>;
  using Value = std::conditional_t<std::is_same_v<T, bool>, std::uint32_t, Number>;

  const T* x;
  std::conditional_t<of_reals, RealElements, T*> y;
  Index n, inner;
  Value neutral;

  LOCKSTEP_HOST_DEVICE Value start() const { return neutral; }
  LOCKSTEP_HOST_DEVICE Value combine(Value a, Value b) const { return F().combine(a, b); }
  LOCKSTEP_HOST_DEVICE Value load(Index o, Index i, Index k) const {
    return convert_element<Value>(x[(o * n + i) * inner + k]);
  }
  LOCKSTEP_HOST_DEVICE void finish(Index o, Index k, Value value) const {
    if constexpr (of_reals)
      y.set(o * inner + k, static_cast<float>(value));
    else
      y[o * inner + k] = convert_element<T>(value);
  }
};

/// The value that a reduction starts from.
template <class V>
V neutral_of(ReduceOp op) {
  using Limits = std::numeric_limits<V>;
  switch (op) {
    case ReduceOp::max:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReduceOp::min:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case ReduceOp::prod:
      return 1;
    case ReduceOp::sum:
    case ReduceOp::mean:
      return 0;
  }
  return 0;
}

/// Calls visit(functor) for an op that ReduceMiddle has for values of T.
template <class T, class Visit>
void visit_middle(ReduceOp op, Visit&& visit) {
  if (op == ReduceOp::max) return visit(MaxOfReplicas{});
  if constexpr (!std::is_same_v<T, bool>)
    if (op == ReduceOp::prod) return visit(ProductOfReplicas{});
  if constexpr (is_integer(dtype_of<T>))
    if (op == ReduceOp::sum) return visit(SumOfReplicas{});
  visit(MinOfReplicas{});
}

template <class T, class Executor, class Elements>
void reduce(Executor& on, const ReduceMiddle& kernel, const Elements& y) {
  const Index n = kernel.x.dim(1);
  const Index inner = kernel.x.dim(2);
  visit_middle<T>(kernel.op, [&]<class F>(F) {
    using Reduction = MiddleReduction<F, T>;
    const auto neutral = neutral_of<typename Reduction::Value>(kernel.op);
    reduce_middle(on, kernel.x.dim(0), n, inner, Reduction{kernel.x.data<T>(), y, n, inner, neutral});
  });
}

template <class T>
struct Argmax {
  const T* x;
  std::int64_t* y;
  Index n;
  float sign;  ///< -1 for the smallest

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const T* const from = x + row * n;
    const auto later = [](Largest a, const Largest& b) {
      a.offer(b);
      return a;
    };
    const Largest largest = team.reduce(
        n, Largest{sign * static_cast<float>(from[0]), 0},
        [=, this](Index i) {
          return Largest{sign * static_cast<float>(from[i]), i};
        },
        later);
    team.once([&] { y[row] = largest.index; });
  }
};

/// y = factor * x + added.
struct Line {
  double factor, added;
};

/// With b[k] the product of the elements before k: dx[k] = b[k] * r[k], where r[k] = dy[k] + x[k + 1] * r[k + 1].
struct ProductGradientOfRow {
  const float* x;
  const float* dy;
  Index n;
  bool is_running;  ///< dy has n elements for each row, else one: that of the last product
  double* before;
  float* dx;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const Index first = row * n;
    const Index last = n - 1;
    team.scan(
        n, 1.0, [=, this](Index k) { return static_cast<double>(x[first + k]); },
        [](double a, double b) { return a * b; },
        [=, this](Index k, double earlier, double) { before[first + k] = earlier; });
    const auto line_of = [=, this](Index i) {  // from r[k + 1] to r[k], for k = last - i
      const double factor = i == 0 ? 0.0 : static_cast<double>(x[first + last - i + 1]);
      if (is_running) return Line{factor, static_cast<double>(dy[first + last - i])};
      return Line{factor, i == 0 ? static_cast<double>(dy[row]) : 0.0};
    };
    team.scan(
        n, Line{1, 0}, line_of,
        [](const Line& earlier, const Line& later) {
          return Line{later.factor * earlier.factor, later.added + later.factor * earlier.added};
        },
        [=, this](Index i, const Line&, const Line& through) {
          dx[first + last - i] = static_cast<float>(before[first + last - i] * through.added);
        });
  }
};

struct Squares : SumOf<double> {
  const float* x;
  double* sum;

  LOCKSTEP_HOST_DEVICE double load(Index, Index i, Index) const {
    return static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  LOCKSTEP_HOST_DEVICE void finish(Index, Index, double all) const { *sum = all; }
};

}  // namespace detail

template <class Executor>
void SumMiddle::run(Executor& on) const {
  const Index n = x.dim(1);
  const Index inner = x.dim(2);
  visit_summed(x.dtype(), [&]<class T>() {
    reduce_middle(on, x.dim(0), n, inner, detail::MiddleSum<T>{{}, x.data<T>(), RealElements(y), n, inner});
  });
}

template <class Executor>
void ReduceMiddle::run(Executor& on) const {
  if (x.dtype() == DType::i32) return detail::reduce<std::int32_t>(on, *this, y.data<std::int32_t>());
  if (x.dtype() == DType::i64) return detail::reduce<std::int64_t>(on, *this, y.data<std::int64_t>());
  if (x.dtype() == DType::boolean) return detail::reduce<bool>(on, *this, y.data<bool>());
  visit_real(x.dtype(), [&]<class T>() { detail::reduce<T>(on, *this, RealElements(y)); });
}

template <class Executor>
void Argmax::run(Executor& on) const {
  const Index n = x.dim(1);
  visit_real(x.dtype(), [&]<class T>() {
    on.teams(x.dim(0), n, detail::Argmax<T>{x.data<T>(), y.data<std::int64_t>(), n, smallest ? -1.0F : 1.0F});
  });
}

template <class Executor>
void ProductGradient::run(Executor& on) const {
  if (x.elements() == 0) return;
  const Tensor before = Tensor::empty({x.elements() * static_cast<Index>(sizeof(double))}, DType::u8);
  on.teams(x.dim(0), x.dim(1),
           detail::ProductGradientOfRow{x.data<float>(), dy.data<float>(), x.dim(1), dy.dim(1) == x.dim(1),
                                        static_cast<double*>(before.raw_data()), dx.data<float>()});
}

template <class Executor>
double SquaredNorm::run(Executor& on) const {
  const Tensor result = Tensor::empty({static_cast<Index>(sizeof(double))}, DType::u8);
  auto* const sum = static_cast<double*>(result.raw_data());
  reduce_middle(on, 1, count, 1, detail::Squares{{}, x, sum});
  return on.value_at(sum);
}

LOCKSTEP_SHARED_KERNEL(SumMiddle)
LOCKSTEP_SHARED_KERNEL(ReduceMiddle)
LOCKSTEP_SHARED_KERNEL(Argmax)
LOCKSTEP_SHARED_KERNEL(ProductGradient)
LOCKSTEP_SHARED_KERNEL(SquaredNorm)

}  // namespace lockstep::kernels
