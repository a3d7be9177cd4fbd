#pragma once

#include <vector>

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/reduction/reduce_op.h>

namespace lockstep::kernels {

/// Calls `f.operator()<T>()`, where T is the C++ type of `dtype`, a dtype that SumMiddle accepts for x.
template <class F>
void visit_summed(DType dtype, F&& f) {
  if (dtype == DType::boolean)
    f.template operator()<bool>();
  else
    visit_real(dtype, f);
}

/// y (outer, inner) = sum over the middle axis of x (outer, n, inner). x is f32, bf16 or bool, y is f32 or bf16.
struct SumMiddle {
  Tensor x;
  Tensor y;

  static constexpr const char* name = "sum_middle";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// y (outer, inner) = the reduction `op` over the middle axis of x (outer, n, inner). x and y are each f32 or bf16, or
/// they have the same dtype: i32, i64 or bool. The maximum of no elements is the dtype's lowest value (-infinity for
/// f32 and bf16), the minimum of no elements the highest (infinity). Precondition: `op` is max or min, prod (not for
/// bool), or sum (only for i32 and i64; SumMiddle sums f32 and bf16).
struct ReduceMiddle {
  ReduceOp op;
  Tensor x;
  Tensor y;

  static constexpr const char* name = "reduce_middle";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// y (rows) i64 = index of the largest or, if `smallest`, the smallest element in each row of x (rows, n): the first of
/// equal elements, or the first NaN if there is one.
struct Argmax {
  Tensor x;
  bool smallest;
  Tensor y;

  static constexpr const char* name = "argmax";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// The gradient of products p of the elements of x (rows, n), f32: dx[r, k] = sum over i of dy[r, i] times the
/// derivative of p[r, i] with respect to x[r, k]. The derivatives are products of the other elements, computed in f64
/// without a division. dy is (rows, n) for the running products p[r, i] = x[r, 0] ... x[r, i], or (rows, 1) for the
/// product of each row. dx may not overlap x or dy.
struct ProductGradient {
  Tensor x;
  Tensor dy;
  Tensor dx;

  static constexpr const char* name = "product_gradient";
  auto operands() const { return kernels::operands(x, dy, dx); }
  template <class Executor>
  void run(Executor& on) const;
};

/// Returns the sum of the squares of `count` elements, in f64; the order of addition depends only on `count` and the
/// kind of device. The host waits for the result.
struct SquaredNorm {
  const float* x;
  std::int64_t count;

  static constexpr const char* name = "squared_norm";
  static constexpr bool capturable = false;
  std::vector<Operand> operands() const { return {Operand(x, count)}; }
  template <class Executor>
  double run(Executor& on) const;
  double on_cpu() const;
};

}  // namespace lockstep::kernels
