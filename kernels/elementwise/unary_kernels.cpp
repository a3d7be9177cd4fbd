#include "lockstep/kernels/elementwise/unary_kernels.h"

#include <variant>

#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/executor/shared_kernel.h>

namespace lockstep::kernels {

template <class Executor>
void Unary::run(Executor& on) const {
  visit_real(y.dtype(), [&]<class T>() {
    const detail::DenseOperands<1, T> operands(y, x);
    std::visit([&](auto f) { detail::map(on, f, operands); }, function);
  });
}

template <class Executor>
void UnaryGradient::run(Executor& on) const {
  visit_real(dx.dtype(), [&]<class T>() {
    const detail::DenseOperands<2, T> operands(dx, kept, dy);
    std::visit([&](auto f) { detail::map(on, detail::Gradient<decltype(f)>{f}, operands); }, function);
  });
}

LOCKSTEP_SHARED_KERNEL(Unary)
LOCKSTEP_SHARED_KERNEL(UnaryGradient)

}  // namespace lockstep::kernels
