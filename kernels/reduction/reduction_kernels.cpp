#include "lockstep/kernels/reduction/reduction_kernels.h"

#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/reduction/reduce_functions.h>

namespace lockstep::kernels {

namespace detail {

template <class From, class To>
struct MiddleSum : SumOf<double> {
  const From* x;
  To* y;
  Index n, inner;

  LOCKSTEP_HOST_DEVICE double load(Index o, Index i, Index k) const {
    return static_cast<float>(x[(o * n + i) * inner + k]);
  }
  LOCKSTEP_HOST_DEVICE void finish(Index o, Index k, double sum) const {
    y[o * inner + k] = static_cast<To>(static_cast<float>(sum));
  }
};

template <class T>
struct Argmax {
  const T* x;
  std::int64_t* y;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const T* const from = x + row * n;
    const auto later = [](Largest a, const Largest& b) {
      a.offer(b);
      return a;
    };
    const Largest largest = team.reduce(
        n, Largest{static_cast<float>(from[0]), 0},
        [=](Index i) {
          return Largest{static_cast<float>(from[i]), i};
        },
        later);
    team.once([&] { y[row] = largest.index; });
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
  visit_real(x.dtype(), [&]<class From>() {
    visit_real(y.dtype(), [&]<class To>() {
      const detail::MiddleSum<From, To> f{{}, x.data<From>(), y.data<To>(), n, inner};
      reduce_middle(on, x.dim(0), n, inner, f);
    });
  });
}

template <class Executor>
void Argmax::run(Executor& on) const {
  const Index n = x.dim(1);
  visit_real(x.dtype(), [&]<class T>() {
    on.teams(x.dim(0), n, detail::Argmax<T>{x.data<T>(), y.data<std::int64_t>(), n});
  });
}

template <class Executor>
double SquaredNorm::run(Executor& on) const {
  const Tensor result = Tensor::empty({static_cast<Index>(sizeof(double))}, DType::u8);
  auto* const sum = static_cast<double*>(result.raw_data());
  reduce_middle(on, 1, count, 1, detail::Squares{{}, x, sum});
  return on.value_at(sum);
}

LOCKSTEP_SHARED_KERNEL(SumMiddle)
LOCKSTEP_SHARED_KERNEL(Argmax)
LOCKSTEP_SHARED_KERNEL(SquaredNorm)

}  // namespace lockstep::kernels
