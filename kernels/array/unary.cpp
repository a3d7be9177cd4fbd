#include "lockstep/kernels/array/unary.h"

#include <variant>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {

/// F{parameters...}(x), for gradients of functors.
template <class F, class... P>
Tensor apply(const Tensor& x, P... parameters) {
  return unary(F{parameters...}, x);
}

functor::Info info_of(const UnaryFunction& function) {
  return std::visit([](const auto& f) { return f.info; }, function);
}

Tensor unary(const UnaryFunction& f, const Tensor& operand, bool keeps_origin) {
  const auto [name, from_result] = info_of(f);
  try {
    require_real(name, operand);
    const Tensor x = to_current_device(operand);
    const Tensor in = dense_copy(x);
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    if (keeps_origin) y = y.with_origin(name, x);
    launch(kernels::Unary{f, in, y});
    if (recording({in})) {
      record(name, {in}, y, [f, kept = from_result ? y : in](BackwardContext& c) {
        if (c.is_recorded()) return contribute_ops(c, 0, [&] { return unary_gradient(f, kept, c.gradient(0)); });
        contribute(
            c, 0, kept.shape(),
            [&](const Tensor& out) {
              launch(kernels::UnaryGradient{f, kept, make_dense(c.gradient(0)), out});
            },
            kept.dtype());
      });
    }
    return y;
  } catch (Error& error) {
    rethrow_from(name, error);
  }
}

Tensor real_unary(const UnaryFunction& f, const Tensor& x) { return unary(f, as_real(info_of(f).name, x)); }

Tensor unary_gradient(const UnaryFunction& function, const Tensor& kept, const Tensor& dy) {
  const auto by_ops = [&](const auto& f) {
    if constexpr (requires { f.slope(kept); })
      return multiply(dy, f.slope(kept));
    else if constexpr (requires { f.gradient(kept, dy); })
      return f.gradient(kept, dy);
    else
      return Tensor();
  };
  if (const Tensor gradient = std::visit(by_ops, function); gradient.defined()) return gradient;
  const Tensor constant = Tensor::empty(kept.shape(), kept.dtype());  // slopes between kinks
  launch(kernels::UnaryGradient{function, make_dense(kept), Tensor::full(kept.shape(), 1, kept.dtype()), constant});
  return multiply(dy, constant);
}

}  // namespace lockstep
