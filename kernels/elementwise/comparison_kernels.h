#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep {

/// Element-wise ops of two operands with bool results.
enum class ComparisonOp {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor
};

}  // namespace lockstep

namespace lockstep::kernels {

/// out (bool) = a op b; a and b, of one dtype, have out's rank and any strides (0 on broadcast axes). The logical ops
/// treat nonzero elements as true.
struct Compare {
  ComparisonOp op;
  Tensor a;
  Tensor b;
  Tensor out;

  static constexpr const char* name = "compare";
  auto operands() const { return kernels::operands(a, b, out); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// out = a where `condition` (bool), else b. a and b have out's dtype; condition, a and b have out's rank and any
/// strides (0 on broadcast axes).
struct Select {
  Tensor condition;
  Tensor a;
  Tensor b;
  Tensor out;

  static constexpr const char* name = "select";
  auto operands() const { return kernels::operands(condition, a, b, out); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

}  // namespace lockstep::kernels
