#include "lockstep/kernels/elementwise/elementwise_kernels.h"

#include <cstddef>
#include <vector>

#include <lockstep/kernels/elementwise/binary_functions.h>
#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/executor/ranges.h>
#include <lockstep/kernels/executor/shared_kernel.h>

namespace lockstep::kernels {

namespace detail {

constexpr int most_bytes_of_arguments = 4096;

struct MovedAverages {
  float* averages[MovingAverages::most] = {};
  const float* values[MovingAverages::most] = {};
  functor::MovingAverage moved[MovingAverages::most] = {};
  Ranges<MovingAverages::most> ranges;

  explicit MovedAverages(const std::vector<MovingAverages::Average>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      averages[i] = all[i].average;
      values[i] = all[i].value;
      moved[i] = {.momentum = all[i].momentum};
      ranges.add(all[i].count);
    }
  }
  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index run) const {
    ranges.each(team, run,
                [&](int which, Index i) { averages[which][i] = moved[which](averages[which][i], values[which][i]); });
  }
};

struct ClearedRanges {
  float* begins[Clear::most] = {};
  Ranges<Clear::most> ranges;

  explicit ClearedRanges(const std::vector<Clear::Range>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      begins[i] = all[i].begin;
      ranges.add(all[i].count);
    }
  }
  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index run) const {
    ranges.each(team, run, [&](int which, Index i) { begins[which][i] = 0; });
  }
};

static_assert(sizeof(MovedAverages) + sizeof(Index) <= most_bytes_of_arguments);
static_assert(sizeof(ClearedRanges) + sizeof(Index) <= most_bytes_of_arguments);

}  // namespace detail

template <class Executor>
void Binary::run(Executor& on) const {
  if (takes_integers(out.dtype()))
    return visit_integer(out.dtype(), [&]<class T>() {
      const detail::StridedOperands<2, T> operands(out, a, b);
      visit_integer_binary(op, [&](auto f) { detail::strided_map(on, f, operands); });
    });
  const bool dense = a.is_dense() && b.is_dense() && out.is_dense();
  visit_real(out.dtype(), [&]<class T>() {
    if (dense) {
      const detail::DenseOperands<2, T> operands(out, a, b);
      return visit_binary(op, [&](auto f) { detail::map(on, f, operands); });
    }
    const detail::StridedOperands<2, T> operands(out, a, b);
    visit_binary(op, [&](auto f) { detail::strided_map(on, detail::InF32<T, decltype(f)>{f}, operands); });
  });
}

template <class Executor>
void BinaryGradient::run(Executor& on) const {
  const bool dense = a.is_dense() && b.is_dense() && dy.is_dense() && out.is_dense();
  visit_real(out.dtype(), [&]<class T>() {
    if (dense) {
      const detail::DenseOperands<3, T> operands(out, a, b, dy);
      return visit_binary_gradient(op, of_first, [&](auto f) { detail::map(on, f, operands); });
    }
    const detail::StridedOperands<3, T> operands(out, a, b, dy);
    visit_binary_gradient(op, of_first,
                          [&](auto f) { detail::strided_map(on, detail::InF32<T, decltype(f)>{f}, operands); });
  });
}

template <class Executor>
void Affine::run(Executor& on) const {
  visit_real(y.dtype(), [&]<class T>() {
    detail::map(on, functor::Affine{.scale = scale, .shift = shift}, detail::DenseOperands<1, T>(y, x));
  });
}

template <class Executor>
void MovingAverages::run(Executor& on) const {
  const detail::MovedAverages f(averages);
  on.teams(f.ranges.runs(), f.ranges.run, f);
}

template <class Executor>
void Clear::run(Executor& on) const {
  const detail::ClearedRanges f(ranges);
  on.teams(f.ranges.runs(), f.ranges.run, f);
}

LOCKSTEP_SHARED_KERNEL(Binary)
LOCKSTEP_SHARED_KERNEL(BinaryGradient)
LOCKSTEP_SHARED_KERNEL(Affine)
LOCKSTEP_SHARED_KERNEL(MovingAverages)
LOCKSTEP_SHARED_KERNEL(Fill)
LOCKSTEP_SHARED_KERNEL(Clear)

}  // namespace lockstep::kernels
