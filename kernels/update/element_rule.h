#pragma once

#include <memory>

#include <lockstep/kernels/executor/host_executor.h>
#include <lockstep/kernels/update/rule_on_gpus.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_cpu.h>
#include <lockstep/kernels/update/update_shared.h>
#include <lockstep/runtime/core/error.h>

// Makes optimizer rules from functors. A functor takes the old parameter and the gradient, which has been summed over
// the replicas, scaled and clipped. It updates the parameter's slots in place and returns the new parameter:
//
//   struct Momentum {
//     static constexpr int slots = 1;
//     LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& velocity) const {
//       velocity = momentum * velocity - learning_rate * gradient;
//       return w + velocity;
//     }
//     float learning_rate, momentum;
//   };
//
// The number of slots is a constant of the functor, so that loops over elements need no branches to find the slots'
// memory. Functors are copied to GPUs byte by byte.

namespace lockstep {

namespace kernels::detail {

template <class F, bool on_gpus>
class ElementRule final : public UpdateRule {
 public:
  explicit ElementRule(const F& f) : f_(f) {}

  int slots() const override { return F::slots; }
  void on_cpu(const StepOptions& step, const UpdateViews& views) const override {
    cpu::update_elements(f_, step, views);
  }
  void on_host(const StepOptions& step, const UpdateViews& views) const override {
    HostExecutor on;
    update_elements(on, f_, step, views);
  }
  void on_gpu(const StepOptions& step, const UpdateViews& views) const override {
    if constexpr (on_gpus)
      update_on_gpu(f_, step, views);
    else
      fail<Unsupported>(
          "the optimizer's rule was compiled for CPUs only; compile its source with nvcc to use it on GPUs");
  }

 private:
  F f_;
};

}  // namespace kernels::detail

/// Makes the rule of a functor, which must be trivially copyable and have the constant `slots` and operator() as above.
/// The rule runs on CPUs. It also runs on GPUs if nvcc compiles this call, or if the functor is one of lockstep's own
/// (rule_on_gpus.h); otherwise a step on a GPU throws Unsupported.
template <class F, bool on_gpus = kernels::detail::has_update_on_gpu<F>>
std::shared_ptr<const UpdateRule> element_rule(const F& f) {
  static_assert(std::is_trivially_copyable_v<F>,
                "the functor must be trivially copyable, because it is copied to GPUs byte by byte");
  return std::make_shared<kernels::detail::ElementRule<F, on_gpus>>(f);
}

}  // namespace lockstep
