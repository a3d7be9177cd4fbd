#include "lockstep/kernels/array/comparison.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <lockstep/kernels/array/broadcast_gradient.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/elementwise/comparison_kernels.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/op/broadcast.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/number.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/op/select.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

const char* name_of(ComparisonOp op) {
  constexpr const char* names[] = {"equal",         "not_equal",   "less",       "less_equal", "greater",
                                   "greater_equal", "logical_and", "logical_or", "logical_xor"};
  return names[static_cast<int>(op)];
}

/// `name` is the caller's.
Tensor compare(const char* name, ComparisonOp op, const Tensor& left, const Tensor& right) try {
  require_same_dtype(name, left, right);
  const Tensor a = to_current_device(left);
  const Tensor b = to_current_device(right);
  const Tensor y = Tensor::empty(broadcast_shape(name, a.shape(), b.shape()), DType::boolean);
  launch(kernels::Compare{op, a.broadcast_view(y.shape()), b.broadcast_view(y.shape()), y});
  return y;
} catch (Error& error) {
  rethrow_from(name, error);
}

Tensor compare(ComparisonOp op, const Tensor& a, const Tensor& b) { return compare(name_of(op), op, a, b); }
Tensor compare(ComparisonOp op, const Tensor& a, double b) { return compare(op, a, number_like(name_of(op), a, b)); }
Tensor compare(ComparisonOp op, double a, const Tensor& b) { return compare(op, number_like(name_of(op), b, a), b); }

/// A truth value as a number that each dtype can represent.
double truth_of(double number) { return number != 0 ? 1 : 0; }

/// |x| op infinity.
Tensor compare_with_infinity(const char* name, ComparisonOp op, const Tensor& operand) try {
  const Tensor x = make_dense(to_current_device(as_real(name, operand)));
  const Tensor size = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::Unary{functor::Abs{}, x, size});
  return compare(op, size, std::numeric_limits<double>::infinity());
} catch (Error& error) {
  rethrow_from(name, error);
}

/// isclose for the op of this name.
Tensor close_elements(const char* op, const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) try {
  require_same_dtype(op, a, b);
  broadcast_shape(op, a.shape(), b.shape());
  const NoGradientScope constant;
  const Tensor x = cast(a, DType::f32);
  const Tensor y = cast(b, DType::f32);
  const Tensor near = logical_and(isfinite(y), less_equal(abs(x - y), abs(y) * rtol + atol));
  const Tensor close = logical_or(near, equal(x, y));
  return equal_nan ? logical_or(close, logical_and(isnan(x), isnan(y))) : close;
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::equal, a, b); }
Tensor equal(const Tensor& a, double b) { return compare(ComparisonOp::equal, a, b); }
Tensor equal(double a, const Tensor& b) { return compare(ComparisonOp::equal, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::not_equal, a, b); }
Tensor not_equal(const Tensor& a, double b) { return compare(ComparisonOp::not_equal, a, b); }
Tensor not_equal(double a, const Tensor& b) { return compare(ComparisonOp::not_equal, a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::less, a, b); }
Tensor less(const Tensor& a, double b) { return compare(ComparisonOp::less, a, b); }
Tensor less(double a, const Tensor& b) { return compare(ComparisonOp::less, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::less_equal, a, b); }
Tensor less_equal(const Tensor& a, double b) { return compare(ComparisonOp::less_equal, a, b); }
Tensor less_equal(double a, const Tensor& b) { return compare(ComparisonOp::less_equal, a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::greater, a, b); }
Tensor greater(const Tensor& a, double b) { return compare(ComparisonOp::greater, a, b); }
Tensor greater(double a, const Tensor& b) { return compare(ComparisonOp::greater, a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::greater_equal, a, b); }
Tensor greater_equal(const Tensor& a, double b) { return compare(ComparisonOp::greater_equal, a, b); }
Tensor greater_equal(double a, const Tensor& b) { return compare(ComparisonOp::greater_equal, a, b); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::logical_and, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::logical_or, a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return compare(ComparisonOp::logical_xor, a, b); }
Tensor logical_and(const Tensor& a, double b) { return compare(ComparisonOp::logical_and, a, truth_of(b)); }
Tensor logical_and(double a, const Tensor& b) { return compare(ComparisonOp::logical_and, truth_of(a), b); }
Tensor logical_or(const Tensor& a, double b) { return compare(ComparisonOp::logical_or, a, truth_of(b)); }
Tensor logical_or(double a, const Tensor& b) { return compare(ComparisonOp::logical_or, truth_of(a), b); }
Tensor logical_xor(const Tensor& a, double b) { return compare(ComparisonOp::logical_xor, a, truth_of(b)); }
Tensor logical_xor(double a, const Tensor& b) { return compare(ComparisonOp::logical_xor, truth_of(a), b); }
Tensor logical_not(const Tensor& x) {
  return compare("logical_not", ComparisonOp::equal, x, number_like("logical_not", x, 0));
}

Tensor where(const Tensor& chosen, const Tensor& left, const Tensor& right) try {
  require(chosen.defined() && chosen.dtype() == DType::boolean, "where takes a condition of bool, got {}", chosen);
  require_same_dtype("where", left, right);
  const Tensor condition = to_current_device(chosen);
  const Tensor a = to_current_device(left);
  const Tensor b = to_current_device(right);
  const Shape both = broadcast_shape("where", a.shape(), b.shape());
  const Tensor y = Tensor::empty(broadcast_shape("where", condition.shape(), both), a.dtype());
  select(condition, a, b, y);
  if (is_real(y.dtype()) && recording({a, b})) {
    record("where", {a, b}, y, [condition, a = a.shape(), b = b.shape()](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      const Tensor zero = number_like("where", dy, 0);
      contribute_broadcast(
          c, 0, a, [&](const Tensor& out) { select(condition, dy, zero, out); },
          [&] { return where(condition, dy, zero); });
      contribute_broadcast(
          c, 1, b, [&](const Tensor& out) { select(condition, zero, dy, out); },
          [&] { return where(condition, zero, dy); });
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("where", error);
}

Tensor where(const Tensor& condition, const Tensor& a, double b) {
  return where(condition, a, number_like("where", a, b));
}

Tensor where(const Tensor& condition, double a, const Tensor& b) {
  return where(condition, number_like("where", b, a), b);
}

std::vector<Tensor> where(const Tensor& condition) try {
  require(condition.defined() && condition.rank() >= 1, "where with one argument takes at least one axis, got {}",
          condition);
  const std::vector<bool> is_true = condition.to_vector<bool>();
  const auto count = std::ranges::count(is_true, true);
  std::vector<Tensor> indices;
  std::int64_t inner = condition.elements();  // elements with the same index along the axes so far
  for (const std::int64_t size : condition.shape()) {
    inner = size == 0 ? 0 : inner / size;
    std::vector<std::int64_t> along;
    along.reserve(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < is_true.size(); ++i)
      if (is_true[i]) along.push_back(static_cast<std::int64_t>(i) / inner % size);
    indices.push_back(Tensor::from(along, {count}));
  }
  return indices;
} catch (Error& error) {
  rethrow_from("where", error);
}

Tensor isnan(const Tensor& x) {
  require_defined("isnan", x);
  return compare("isnan", ComparisonOp::not_equal, x, x);
}

Tensor isinf(const Tensor& x) { return compare_with_infinity("isinf", ComparisonOp::equal, x); }
Tensor isfinite(const Tensor& x) { return compare_with_infinity("isfinite", ComparisonOp::less, x); }

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return close_elements("isclose", a, b, rtol, atol, equal_nan);
}

Tensor allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) try {
  return all(close_elements("allclose", a, b, rtol, atol, equal_nan));
} catch (Error& error) {
  rethrow_from("allclose", error);
}

Tensor count_nonzero(const Tensor& x) { return count_nonzero(x, all_axes(x)); }

Tensor count_nonzero(const Tensor& x, const std::vector<int>& axes, bool keepdims) try {
  require_defined("count_nonzero", x);
  return sum(cast(x, DType::boolean), axes, keepdims);
} catch (Error& error) {
  rethrow_from("count_nonzero", error);
}

}  // namespace lockstep
