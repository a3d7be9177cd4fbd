#pragma once

#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// y = f(x), f32 or bf16.
struct Unary {
  UnaryFunction function;
  Tensor x;
  Tensor y;

  static constexpr const char* name = "unary";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// dx = dy * f'(x), f32 or bf16. `kept` is f(x) if the functor's info.from_result, else x.
struct UnaryGradient {
  UnaryFunction function;
  Tensor kept;
  Tensor dy;
  Tensor dx;

  static constexpr const char* name = "unary_gradient";
  auto operands() const { return kernels::operands(kept, dy, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

}  // namespace lockstep::kernels
