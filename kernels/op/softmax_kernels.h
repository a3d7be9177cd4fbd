#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

// All tensors are dense, f32 or bf16.

/// Softmax of each row: logits and y (rows, n).
struct Softmax {
  Tensor logits;
  Tensor y;

  static constexpr const char* name = "softmax";
  auto operands() const { return kernels::operands(logits, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// dx = y * (dy - sum(dy * y)) for each row. Rows y of bf16 are first scaled so that they sum to 1 in spite of
/// rounding; otherwise, a constant added to all dy of a row would change dx.
struct SoftmaxGradient {
  Tensor y;
  Tensor dy;
  Tensor dx;

  static constexpr const char* name = "softmax_gradient";
  auto operands() const { return kernels::operands(y, dy, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// The logarithm of the softmax of each row: logits and y (rows, n).
struct LogSoftmax {
  Tensor logits;
  Tensor y;

  static constexpr const char* name = "log_softmax";
  auto operands() const { return kernels::operands(logits, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// dx = dy - exp(y) * sum(dy) for each row.
struct LogSoftmaxGradient {
  Tensor y;
  Tensor dy;
  Tensor dx;

  static constexpr const char* name = "log_softmax_gradient";
  auto operands() const { return kernels::operands(y, dy, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

}  // namespace lockstep::kernels
