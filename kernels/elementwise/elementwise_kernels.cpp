#include "lockstep/kernels/elementwise/elementwise_kernels.h"

#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/executor/shared_kernel.h>

namespace lockstep::kernels {

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
void ChoiceGradient::run(Executor& on) const {
  const bool dense = a.is_dense() && b.is_dense() && dy.is_dense() && out.is_dense();
  visit_real(out.dtype(), [&]<class T>() {
    visit_choice_gradient(op, of_first, [&](auto f) {
      if (dense)
        detail::map<T>(on, f, out, a, b, dy);
      else
        detail::strided_ternary<T>(on, f, a, b, dy, out);
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
void MovingAverage::run(Executor& on) const {
  detail::map<float>(on, functor::MovingAverage{.momentum = momentum}, average, average, value);
}

LOCKSTEP_SHARED_KERNEL(Unary)
LOCKSTEP_SHARED_KERNEL(UnaryGradient)
LOCKSTEP_SHARED_KERNEL(Binary)
LOCKSTEP_SHARED_KERNEL(ChoiceGradient)
LOCKSTEP_SHARED_KERNEL(Affine)
LOCKSTEP_SHARED_KERNEL(Accumulate)
LOCKSTEP_SHARED_KERNEL(MovingAverage)
LOCKSTEP_SHARED_KERNEL(Fill)

}  // namespace lockstep::kernels
