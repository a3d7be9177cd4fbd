#include "lockstep/kernels/array/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/broadcast_gradient.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/unary.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/op/broadcast.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/number.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/sum_axes.h>

namespace lockstep {
namespace {

const char* name_of(BinaryOp op) {
  constexpr const char* names[] = {"add",   "subtract",           "multiply",     "divide", "maximum", "minimum",
                                   "power", "squared_difference", "floor_divide", "mod",    "arctan2", "logaddexp"};
  return names[static_cast<int>(op)];
}

/// out = a op b, with a and b broadcast to out's shape.
void apply(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  launch(kernels::Binary{op, a.broadcast_view(out.shape()), b.broadcast_view(out.shape()), out});
}

/// Contributes the output's gradient, unchanged, to an input of shape `shape` that was broadcast.
void pass_on_broadcast(BackwardContext& c, int input, const Shape& shape) {
  const Tensor& dy = c.gradient(0);
  if (shape == dy.shape()) return pass_on(c, input, dy);
  if (c.is_recorded()) return contribute_ops(c, input, [&] { return summed_to(dy, shape); });
  contribute(
      c, input, shape, [&](const Tensor& out) { sum_to_shape(dy, out); }, dy.dtype());
}

void add_gradient(BackwardContext& c, const Shape& a, const Shape& b) {
  pass_on_broadcast(c, 0, a);
  pass_on_broadcast(c, 1, b);
}

void subtract_gradient(BackwardContext& c, const Shape& a, const Shape& b) {
  pass_on_broadcast(c, 0, a);
  contribute_broadcast(
      c, 1, b,
      [&](const Tensor& out) {
        launch(kernels::Unary{functor::Negative{}, make_dense(c.gradient(0)), out});
      },
      [&] { return negative(c.gradient(0)); });
}

void multiply_gradient(BackwardContext& c, const Tensor& a, const Tensor& b) {
  const auto contribute_to = [&](int input, const Shape& shape, const Tensor& other) {
    contribute_broadcast(
        c, input, shape, [&](const Tensor& out) { apply(BinaryOp::multiply, c.gradient(0), other, out); },
        [&] { return multiply(c.gradient(0), other); });
  };
  contribute_to(0, a.shape(), b);
  contribute_to(1, b.shape(), a);
}

/// y = a / b: da = dy / b, db = -dy y / b.
void divide_gradient(BackwardContext& c, const Shape& a, const Tensor& b, const Tensor& y) {
  const Tensor& dy = c.gradient(0);
  contribute_broadcast(
      c, 0, a, [&](const Tensor& out) { apply(BinaryOp::divide, dy, b, out); }, [&] { return divide(dy, b); });
  contribute_broadcast(
      c, 1, b.shape(),
      [&](const Tensor& out) {
        apply(BinaryOp::multiply, dy, y, out);
        apply(BinaryOp::divide, out, b, out);
        launch(kernels::Affine{out, -1, 0, out});
      },
      [&] { return negative(divide(multiply(dy, y), b)); });
}

/// `operands_gradient` with respect to a if `of_first`, else to b, by ops, in dy's shape.
Tensor operand_gradient(BinaryOp op, bool of_first, const Tensor& a, const Tensor& b, const Tensor& dy) {
  if (op == BinaryOp::squared_difference) return dy * 2.0 * (of_first ? a - b : b - a);
  if (op == BinaryOp::power && of_first) return dy * where(equal(b, 0), 0.0, b * power(a, b - 1.0));
  if (op == BinaryOp::power) {
    const Tensor positive = greater(a, 0);
    const Tensor base = where(positive, a, 1.0);
    return where(positive, dy * power(base, b) * log(base), 0.0);
  }
  if (op == BinaryOp::arctan2) return dy * (of_first ? b : negative(a)) / (square(a) + square(b));
  if (op == BinaryOp::logaddexp) return dy * sigmoid(of_first ? a - b : b - a);
  const Tensor taken = Tensor::empty(dy.shape(), dy.dtype());  // the derivative, which is piecewise constant
  const Tensor ones = Tensor::full(dy.shape(), 1, dy.dtype());
  launch(
      kernels::BinaryGradient{op, of_first, a.broadcast_view(dy.shape()), b.broadcast_view(dy.shape()), ones, taken});
  return multiply(dy, taken);
}

void operands_gradient(BackwardContext& c, BinaryOp op, const Tensor& a, const Tensor& b) {
  const Shape& full = c.gradient(0).shape();
  const auto contribute_to = [&](int input, const Shape& shape) {
    contribute_broadcast(
        c, input, shape,
        [&](const Tensor& out) {
          launch(kernels::BinaryGradient{op, input == 0, a.broadcast_view(full), b.broadcast_view(full), c.gradient(0),
                                         out});
        },
        [&] { return operand_gradient(op, input == 0, a, b, c.gradient(0)); });
  };
  contribute_to(0, a.shape());
  contribute_to(1, b.shape());
}

/// The backward function of an op. It keeps only the tensors that the gradient reads.
BackwardFn binary_gradient(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  switch (op) {
    case BinaryOp::add:
      return [a = a.shape(), b = b.shape()](BackwardContext& c) { add_gradient(c, a, b); };
    case BinaryOp::subtract:
      return [a = a.shape(), b = b.shape()](BackwardContext& c) { subtract_gradient(c, a, b); };
    case BinaryOp::multiply:
      return [a, b](BackwardContext& c) { multiply_gradient(c, a, b); };
    case BinaryOp::divide:
      return [a = a.shape(), b, y](BackwardContext& c) { divide_gradient(c, a, b, y); };
    case BinaryOp::maximum:
    case BinaryOp::minimum:
    case BinaryOp::power:
    case BinaryOp::squared_difference:
    case BinaryOp::floor_divide:
    case BinaryOp::mod:
    case BinaryOp::arctan2:
    case BinaryOp::logaddexp:
      return [op, a, b](BackwardContext& c) { operands_gradient(c, op, a, b); };
  }
  fail<BrokenInvariant>("binary op {} has no gradient", static_cast<int>(op));
}

Tensor binary(BinaryOp op, const Tensor& left, const Tensor& right);

/// Of bool, as in NumPy: the sum is true if one of the operands is. `power`, `floor_divide` and `mod` have results in
/// i32.
Tensor of_bools(BinaryOp op, const Tensor& a, const Tensor& b) {
  if (op == BinaryOp::subtract || op == BinaryOp::squared_difference) require_no_bool(name_of(op), a);
  const bool gives_integers = op == BinaryOp::power || op == BinaryOp::floor_divide || op == BinaryOp::mod;
  const auto number = [&](const Tensor& x) {
    return in_dtype(gives_integers ? DType::i32 : DType::u8, to_current_device(x));
  };
  const Tensor y = binary(op, number(a), number(b));
  return gives_integers ? y : in_dtype(DType::boolean, y);
}

Tensor binary(BinaryOp op, const Tensor& left, const Tensor& right) try {
  require_same_dtype(name_of(op), left, right);
  const bool is_of_reals = op == BinaryOp::divide || op == BinaryOp::arctan2 || op == BinaryOp::logaddexp;
  if (!is_of_reals && left.dtype() == DType::boolean) return of_bools(op, left, right);
  const auto operand = [&](const Tensor& x) { return to_current_device(is_of_reals ? as_real(name_of(op), x) : x); };
  const Tensor a = operand(left);
  const Tensor b = operand(right);
  const Tensor y = Tensor::empty(broadcast_shape(name_of(op), a.shape(), b.shape()), a.dtype());
  apply(op, a, b, y);
  if (is_real(y.dtype()) && recording({a, b})) record(name_of(op), {a, b}, y, binary_gradient(op, a, b, y));
  return y;
} catch (Error& error) {
  rethrow_from(name_of(op), error);
}

///@{
/// An op whose results for bool are i32.
Tensor with_number(BinaryOp op, const Tensor& x, double b) try {
  const Tensor a = bool_counted(x);
  return binary(op, a, number_like(name_of(op), a, b));
} catch (Error& error) {
  rethrow_from(name_of(op), error);
}
Tensor with_number(BinaryOp op, double a, const Tensor& x) try {
  const Tensor b = bool_counted(x);
  return binary(op, number_like(name_of(op), b, a), b);
} catch (Error& error) {
  rethrow_from(name_of(op), error);
}
///@}

/// x * scale + shift, real.
Tensor affine(const char* op, const Tensor& operand, double scale, double shift) try {
  require_defined(op, operand);
  const Tensor x = to_current_device(operand);
  const auto factor = static_cast<float>(scale);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::Affine{make_dense(x), factor, static_cast<float>(shift), y});
  if (recording({x})) {
    record(op, {x}, y, [factor](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      if (factor == 1) return pass_on(c, 0, dy);
      contribute_linear(
          c, 0, dy.shape(),
          [&](const Tensor& out) {
            launch(kernels::Affine{make_dense(dy), factor, 0, out});
          },
          [factor](const Tensor& d) { return multiply(d, factor); }, dy.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

/// The numbers that an op leaves unchanged.
Tensor copied(const char* op, const Tensor& operand) try {
  const Tensor x = to_current_device(operand);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::Convert{x, y});
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

/// Throws InvalidArgument for a of a dtype that divide converts.
void require_quotient_fits(const Tensor& a) {
  require(!a.defined() || is_real(a.dtype()),
          "a /= b takes an a of f32 or bf16, got {}; use a = a / b, which is f32, or, for integers, floor_divide", a);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return binary(BinaryOp::add, a, b); }
Tensor subtract(const Tensor& a, const Tensor& b) { return binary(BinaryOp::subtract, a, b); }
Tensor multiply(const Tensor& a, const Tensor& b) { return binary(BinaryOp::multiply, a, b); }
Tensor divide(const Tensor& a, const Tensor& b) { return binary(BinaryOp::divide, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return binary(BinaryOp::maximum, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return binary(BinaryOp::minimum, a, b); }
Tensor power(const Tensor& a, const Tensor& b) { return binary(BinaryOp::power, a, b); }
Tensor squared_difference(const Tensor& a, const Tensor& b) { return binary(BinaryOp::squared_difference, a, b); }
Tensor floor_divide(const Tensor& a, const Tensor& b) { return binary(BinaryOp::floor_divide, a, b); }
Tensor mod(const Tensor& a, const Tensor& b) { return binary(BinaryOp::mod, a, b); }
Tensor arctan2(const Tensor& a, const Tensor& b) { return binary(BinaryOp::arctan2, a, b); }
Tensor logaddexp(const Tensor& a, const Tensor& b) { return binary(BinaryOp::logaddexp, a, b); }

Tensor add_n(std::span<const Tensor> operands) try {
  require(!operands.empty(), "add_n needs at least one tensor");
  std::vector<Tensor> parts;
  for (const Tensor& part : operands) {
    require_defined("add_n", part);
    require(part.shape() == operands[0].shape() && part.dtype() == operands[0].dtype(),
            "add_n takes tensors of one shape and dtype, got {} and {}", operands[0], part);
    parts.push_back(to_current_device(part));
  }
  if (parts.size() == 1) return parts[0];
  if (parts[0].dtype() == DType::boolean) return std::accumulate(parts.begin() + 1, parts.end(), parts[0]);
  const Tensor y = Tensor::empty(parts[0].shape(), parts[0].dtype());
  apply(BinaryOp::add, parts[0], parts[1], y);
  for (std::size_t i = 2; i < parts.size(); ++i) apply(BinaryOp::add, y, parts[i], y);
  if (is_real(y.dtype()) && recording(parts)) {
    record("add_n", parts, std::span(&y, 1), [count = static_cast<int>(parts.size())](BackwardContext& c) {
      for (int i = 0; i < count; ++i) pass_on(c, i, c.gradient(0));
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("add_n", error);
}

Tensor add(const Tensor& x, double b) {
  return is_real(x.dtype()) ? affine("add", x, 1, b) : add(x, number_like("add", x, b));
}

Tensor subtract(const Tensor& x, double b) {
  return is_real(x.dtype()) ? affine("subtract", x, 1, -b) : subtract(x, number_like("subtract", x, b));
}

Tensor subtract(double a, const Tensor& x) {
  return is_real(x.dtype()) ? affine("subtract", x, -1, a) : subtract(number_like("subtract", x, a), x);
}

Tensor multiply(const Tensor& x, double b) {
  return is_real(x.dtype()) ? affine("multiply", x, b, 0) : multiply(x, number_like("multiply", x, b));
}

Tensor divide(double a, const Tensor& x) { return real_unary(functor::Divided{static_cast<float>(a)}, x); }
Tensor divide(const Tensor& operand, double b) {
  const Tensor x = as_real("divide", operand);
  const double factor = 1 / b;
  const bool overflows = std::abs(factor) > std::numeric_limits<float>::max() && b != 0;
  return overflows ? divide(x, number_like("divide", x, b)) : affine("divide", x, factor, 0);
}

Tensor& operator/=(Tensor& a, const Tensor& b) {
  require_quotient_fits(a);
  return a = divide(a, b);
}
Tensor& operator/=(Tensor& a, double b) {
  require_quotient_fits(a);
  return a = divide(a, b);
}

Tensor power(const Tensor& x, double b) {
  if (is_real(x.dtype())) return unary(functor::PowerOf{static_cast<float>(b)}, x);
  require(b >= 0, "power by {} takes f32 or bf16, got {}", b, x);
  return with_number(BinaryOp::power, x, b);
}

Tensor power(double a, const Tensor& b) { return with_number(BinaryOp::power, a, b); }
Tensor floor_divide(const Tensor& a, double b) { return with_number(BinaryOp::floor_divide, a, b); }
Tensor floor_divide(double a, const Tensor& b) { return with_number(BinaryOp::floor_divide, a, b); }
Tensor mod(const Tensor& a, double b) { return with_number(BinaryOp::mod, a, b); }
Tensor mod(double a, const Tensor& b) { return with_number(BinaryOp::mod, a, b); }

Tensor squared_difference(const Tensor& a, double b) {
  return squared_difference(a, number_like("squared_difference", a, b));
}
Tensor squared_difference(double a, const Tensor& b) { return squared_difference(b, a); }

Tensor arctan2(const Tensor& x, double b) {
  const Tensor a = as_real("arctan2", x);
  return arctan2(a, number_like("arctan2", a, b));
}
Tensor arctan2(double a, const Tensor& x) {
  const Tensor b = as_real("arctan2", x);
  return arctan2(number_like("arctan2", b, a), b);
}
Tensor logaddexp(const Tensor& x, double b) {
  const Tensor a = as_real("logaddexp", x);
  return logaddexp(a, number_like("logaddexp", a, b));
}
Tensor logaddexp(double a, const Tensor& b) { return logaddexp(b, a); }

Tensor negative(const Tensor& x) try {
  if (is_real(x.dtype())) return unary(functor::Negative{}, x);
  require_no_bool("negative", x);
  return subtract(0, x);
} catch (Error& error) {
  rethrow_from("negative", error);
}

Tensor abs(const Tensor& x) try {
  if (is_byte(x.dtype())) return copied("abs", x);
  return is_integer(x.dtype()) ? maximum(x, subtract(0, x)) : unary(functor::Abs{}, x);
} catch (Error& error) {
  rethrow_from("abs", error);
}

#define LOCKSTEP_DEFINE(op, Functor) \
  Tensor op(const Tensor& x) { return real_unary(functor::Functor{}, x); }
LOCKSTEP_MATH_OPS(LOCKSTEP_DEFINE)
#undef LOCKSTEP_DEFINE

Tensor square(const Tensor& x) try {
  if (is_real(x.dtype())) return unary(functor::Square{}, x);
  const Tensor number = bool_counted(x);
  return multiply(number, number);
} catch (Error& error) {
  rethrow_from("square", error);
}

Tensor reciprocal(const Tensor& x) try {
  require_defined("reciprocal", x);
  return divide(1, x);
} catch (Error& error) {
  rethrow_from("reciprocal", error);
}

Tensor sign(const Tensor& x) try {
  if (is_real(x.dtype())) return unary(functor::Sign{}, x);
  require_no_bool("sign", x);
  return is_integer(x.dtype()) ? clip(x, -1, 1) : minimum(x, 1);
} catch (Error& error) {
  rethrow_from("sign", error);
}

Tensor trunc(const Tensor& x) {
  return x.defined() && !is_real(x.dtype()) ? copied("trunc", x) : unary(functor::Trunc{}, x);
}

Tensor round(const Tensor& x, int decimals) {
  require(decimals >= -38 && decimals <= 38, "round takes -38 to 38 decimals, got {}", decimals);
  if (x.defined() && !is_real(x.dtype()) && decimals >= 0) return copied("round", x);
  const auto up = static_cast<float>(std::pow(10.0, std::max(decimals, 0)));
  const auto down = static_cast<float>(std::pow(10.0, std::max(-decimals, 0)));
  return unary(functor::Round{up, down}, x);
}

Tensor maximum(const Tensor& x, double lowest) {
  if (is_real(x.dtype())) return unary(functor::Maximum{static_cast<float>(lowest)}, x);
  return maximum(x, number_like("maximum", x, lowest));
}

Tensor minimum(const Tensor& x, double highest) {
  if (is_real(x.dtype())) return unary(functor::Minimum{static_cast<float>(highest)}, x);
  return minimum(x, number_like("minimum", x, highest));
}

Tensor clip(const Tensor& x, double lowest, double highest) try {
  require(lowest <= highest, "clip takes bounds in increasing order, got {} and {}", lowest, highest);
  if (is_real(x.dtype())) return unary(functor::Clip{static_cast<float>(lowest), static_cast<float>(highest)}, x);
  const Tensor number = bool_counted(x);
  return minimum(maximum(number, number_like("clip", number, lowest)), number_like("clip", number, highest));
} catch (Error& error) {
  rethrow_from("clip", error);
}

Tensor cast(const Tensor& operand, DType dtype) try {
  require_defined("cast", operand);
  if (operand.dtype() == dtype) return operand;
  const Tensor x = to_current_device(operand);
  Tensor y = in_dtype(dtype, x);
  for (const char* op : {"softmax", "sigmoid"})  // losses use the logits, whatever the dtype of the probabilities
    if (const Tensor origin = operand.origin(op); origin.defined()) y = y.with_origin(op, origin);
  if (is_real(x.dtype()) && is_real(dtype) && recording({x})) {
    record("cast", {x}, y, [from = x.dtype()](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute_linear(
          c, 0, dy.shape(),
          [&](const Tensor& out) {
            launch(kernels::Convert{dy, out});
          },
          [to = dy.dtype()](const Tensor& d) { return cast(d, to); }, from);
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("cast", error);
}

}  // namespace lockstep
