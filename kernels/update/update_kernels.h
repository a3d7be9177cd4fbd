#pragma once

#include <variant>
#include <vector>

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/update/norm_limit_options.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update.h>

namespace lockstep::kernels {

/// As lockstep::limit_norms (norm_limits.h), of dense x whose axes first, first + 2, ... the vectors lie along.
/// `first` is 0 or 1; x's shape alone decides the order of addition.
struct LimitNorms {
  Tensor x;
  int first;
  NormLimits limits;

  static constexpr const char* name = "limit_norms";
  auto operands() const { return kernels::operands(x); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// As ReduceViews says. Throws InvalidArgument for a mean of integers.
struct Reduce {
  ReduceOp op;
  std::variant<ReduceViews<float>, ReduceViews<bfloat16>, ReduceViews<std::int32_t>, ReduceViews<std::int64_t>> views;

  static constexpr const char* name = "reduce";
  std::vector<Operand> operands() const;
  std::function<void()> deferred() const;
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// Sums the replicas' gradients and applies the step to every copy of the parameters, in one pass.
struct Update {
  OptimizerStep step;
  UpdateViews views;

  static constexpr const char* name = "update";
  static constexpr bool capturable = false;
  std::vector<Operand> operands() const;
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
