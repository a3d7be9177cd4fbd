#include "lockstep/kernels/array/unary.h"

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/elementwise/elementwise_functions.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

const char* name_of(UnaryOp op) {
  constexpr const char* names[] = {
      "negative",     "exp",        "log",         "sqrt",      "square",      "abs",         "maximum",
      "minimum",      "clip",       "power",       "divide",    "rsqrt",       "log1p",       "expm1",
      "log2",         "log10",      "erf",         "sin",       "cos",         "tan",         "arcsin",
      "arccos",       "arctan",     "sinh",        "cosh",      "arcsinh",     "arccosh",     "arctanh",
      "sign",         "floor",      "ceil",        "trunc",     "round",       "relu",        "relu6",
      "leaky_relu",   "elu",        "celu",        "selu",      "gelu",        "gelu_tanh",   "sigmoid",
      "hard_sigmoid", "silu",       "softplus",    "softsign",  "tanh",        "hard_silu",   "mish",
      "log_sigmoid",  "squareplus", "sparse_plus", "hard_tanh", "hard_shrink", "soft_shrink", "tanh_shrink"};
  return names[static_cast<int>(op)];
}

}  // namespace

bool gradient_from_result(const UnaryFunction& f) {
  bool from_result = false;
  visit_unary(f, [&]<class F>(const F&) { from_result = F::from_result; });
  return from_result;
}

Tensor unary(const UnaryFunction& f, const Tensor& operand, bool keeps_origin) try {
  require_real(name_of(f.op), operand);
  const Tensor x = to_current_device(operand);
  const Tensor in = dense_copy(x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (keeps_origin) y = y.with_origin(name_of(f.op), x);
  launch(kernels::Unary{f, in, y});
  if (recording({in})) {
    record(name_of(f.op), {in}, y, [f, kept = gradient_from_result(f) ? y : in](BackwardContext& c) {
      if (c.is_recorded()) return contribute_ops(c, 0, [&] { return multiply(c.gradient(0), slope(f, kept)); });
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
  rethrow_from(name_of(f.op), error);
}

Tensor real_unary(const UnaryFunction& f, const Tensor& x) { return unary(f, as_real(name_of(f.op), x)); }

}  // namespace lockstep
