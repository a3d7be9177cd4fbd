#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <lockstep/models/libtorch/module_replicas.h>
#include <lockstep/models/libtorch/replicated.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep::libtorch {

/// A libtorch module on every replica of a strategy. When `backward` returns in a replica, the gradients of the
/// module's parameters are the sums over all replicas, so that equal optimizers keep the modules' parameters
/// bit-identical. Each replica has its own buffers, such as the statistics of batch normalization.
///
/// Random numbers: on CPUs all threads share libtorch's generator, so the numbers that a replica draws, e.g. for
/// dropout, vary from run to run, unless MirroredOptions::sequential is set or each process has one replica.
template <class Module>
class Mirrored : public Replicated<Module> {
 public:
  /// `modules` has one module for each replica of this process. Throws the same errors as ModuleReplicas.
  Mirrored(const Strategy& strategy, const std::vector<std::shared_ptr<Module>>& modules)
      : Replicated<Module>(strategy, modules),
        modules_(std::make_shared<ModuleReplicas>(
            strategy, std::vector<std::shared_ptr<torch::nn::Module>>(modules.begin(), modules.end()))) {}

  /// Same as Replicated::here. Also throws whatever ModuleReplicas::prepare throws.
  const std::shared_ptr<Module>& here() const {
    const int replica = replica_here(this->strategy());
    modules_->prepare(replica);
    return this->replicas()[static_cast<std::size_t>(replica)];
  }
  /// Same as here().
  Module* operator->() const { return here().get(); }
  /// Same as here().
  Module& operator*() const { return *here(); }

  /// Calls `step` and returns its result. Inside it, backward adds to this replica's gradients without summing them
  /// over the replicas; the next backward outside it sums everything that was added. Every replica must make the same
  /// calls.
  template <class Step>
  decltype(auto) no_sync(Step&& step) const {
    const GradientSums::Pause pause(modules_->gradients(), replica_here(this->strategy()));
    return std::forward<Step>(step)();
  }
  /// Names of the parameters that no replica's loss depended on in the last backward. They have no gradient. Call it in
  /// a replica after backward, or outside replicas. minimize() does not change the result.
  std::vector<std::string> unused_parameters() const {
    return modules_->unused_parameters(std::max(0, current_context().replica));
  }
  /// Gives every replica's f32 and bf16 buffers the mean over the replicas, and its other buffers the first replica's
  /// values, e.g. before an evaluation. Buffers of dtypes that lockstep does not have get the values of their process's
  /// first replica. Call it outside replicas, in all processes.
  void synchronize_buffers() const { modules_->synchronize_buffers(); }
  /// Throws BrokenInvariant, naming parameter and replica, if the replicas' parameters are not bit-identical. Call
  /// it outside replicas, in all processes.
  void verify() const { modules_->verify(); }
  /// The modules without their type, for save() and load().
  operator const ModuleReplicas&() const { return *modules_; }  // NOLINT: implicit

 private:
  std::shared_ptr<ModuleReplicas> modules_;
};

/// @cond
namespace detail {

template <class T>
inline constexpr bool is_module_pointer = false;
template <std::derived_from<torch::nn::Module> Module>
inline constexpr bool is_module_pointer<std::shared_ptr<Module>> = true;

template <class Made>
auto pointer_to(Made made) {
  constexpr bool is_holder = requires { requires is_module_pointer<std::decay_t<decltype(made.ptr())>>; };
  static_assert(is_holder || is_module_pointer<Made>,
                "the function passed to mirror() must return a shared_ptr to a torch::nn::Module or a module holder "
                "(TORCH_MODULE)");
  if constexpr (is_holder) {
    require(!made.is_empty(), "the function passed to mirror() returned an empty module holder");
    return made.ptr();
  } else {
    require(made != nullptr, "the function passed to mirror() returned a null pointer");
    return made;
  }
}

}  // namespace detail
/// @endcond

/// Makes a module for each replica of this process. Calls `make` once for each; it must return a shared_ptr to a module
/// or a module holder (TORCH_MODULE). All modules of all processes get the values of the chief's first module. Leaves
/// libtorch's random number generator in its state after the first call, so that the numbers that the program draws
/// afterwards do not depend on the number of replicas. Throws the same errors as ModuleReplicas, and InvalidArgument
/// for an empty holder or pointer. Notifies the other workers of the errors of `make`.
template <class Make>
auto mirror(const Strategy& strategy, Make&& make) {
  const auto made = [&] {
    return notify_on_failure(strategy.state()->cluster(), [&] { return detail::pointer_to(make()); });
  };
  std::vector modules{made()};
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor state = generator.get_state();
  while (static_cast<int>(modules.size()) < strategy.num_local_replicas()) modules.push_back(made());
  generator.set_state(state);
  return Mirrored(strategy, modules);
}

/// One of libtorch's optimizers for each replica, over all parameters of its module. For parameter groups use
/// replicate().
///
///     auto optimizer = optimizer<torch::optim::AdamW>(net, torch::optim::AdamWOptions(1e-3));
template <class Optimizer, class Module, class Options>
Replicated<Optimizer> optimizer(const Mirrored<Module>& net, const Options& options) {
  return replicate(net, [&](Module& own) { return Optimizer(own.parameters(), options); });
}

}  // namespace lockstep::libtorch
