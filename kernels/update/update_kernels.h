#pragma once

#include <variant>
#include <vector>

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/update/norm_limit_options.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update.h>

namespace lockstep::kernels {

/// lockstep::limit_norms (norm_limits.h) for dense x whose axes alternate between reduced and kept: each norm is taken
/// over the axes first, first + 2, ... (`first` is 0 or 1). The order of addition depends only on x's shape and the
/// kind of device.
struct LimitNorms {
  Tensor x;
  int first;
  NormLimits limits;

  static constexpr const char* name = "limit_norms";
  auto operands() const { return kernels::operands(x); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// The reduction that ReduceViews describes. Throws the errors of check_views.
struct Reduce {
  ReduceOp op;
  std::variant<ReduceViews<float>, ReduceViews<bfloat16>, ReduceViews<std::int32_t>, ReduceViews<std::int64_t>> views;

  static constexpr const char* name = "reduce";
  std::vector<Operand> operands() const;
  std::function<void()> deferred() const;
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// Sums the replicas' gradients and applies the step to every copy of the parameters in one pass. Throws the errors of
/// check_views.
struct Update {
  OptimizerStep step;
  UpdateViews views;

  static constexpr const char* name = "update";
  static constexpr bool capturable = false;
  std::vector<Operand> operands() const;
  void on_cpu() const;
};

///@{
/// Apply the update with the code of step.rule that is compiled for the host or for GPUs (UpdateRule::on_host, on_gpu).
/// Throw the errors of check_views.
void on_host(const Update& update);
void on_gpu(const Update& update);
///@}

}  // namespace lockstep::kernels
