#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include <lockstep/models/libtorch/gradient_sums.h>
#include <lockstep/strategy/core/strategy.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep::libtorch {

/// A parameter or buffer of a module's replicas, under libtorch's name.
struct NamedTensors {
  std::string name;                     ///< as in named_parameters() or named_buffers()
  std::vector<torch::Tensor> replicas;  ///< handles to the modules' tensors, in replica order
  bool is_buffer = false;               ///< false: a parameter
};

/// A module for each replica of this process. Its parameters and buffers use the memory of the strategy's variables.
/// The non-template part of Mirrored.
class ModuleReplicas {
 public:
  /// `modules` has one module for each replica of this process. All modules of all processes get the values of the
  /// chief's first module. Throws InvalidArgument if modules of any processes differ in names, shapes, dtypes or
  /// requires_grad, and if modules have a tensor in common. Throws Unsupported for trainable parameters that are not
  /// f32, for different tensors of a module that share memory, and for strategies on GPUs or with one copy for all
  /// replicas. Throws LogicError inside a replica.
  ModuleReplicas(const Strategy& strategy, std::vector<std::shared_ptr<torch::nn::Module>> modules);

  /// The strategy of the replicas.
  const Strategy& strategy() const { return strategy_; }
  /// The trainable parameters. A parameter that is registered several times is listed once, under its first name.
  const std::vector<Variable>& parameters() const { return parameters_; }
  /// All parameters, in the order of named_parameters(), then all buffers.
  const std::vector<NamedTensors>& tensors() const { return tensors_; }
  /// Same as Mirrored::unused_parameters, for the last backward of replica `replica`.
  std::vector<std::string> unused_parameters(int replica) const;
  /// The sums of the parameters' gradients.
  GradientSums& gradients() const { return *gradients_; }
  /// Prepares replica `replica` for a forward pass: adds hooks that libtorch has dropped, and moves tensors back to the
  /// memory of their variables if libtorch has given them other memory. Throws LogicError for a parameter that was
  /// frozen at construction but is trainable now, for a parameter or buffer that was added or removed since, and for a
  /// parameter or buffer whose shape or dtype has changed. Looks for added and removed parameters and buffers only once
  /// after each backward, because that takes long.
  void prepare(int replica) const;
  /// Makes the tensors of replica `replica` and the variables share memory again. If libtorch has given a tensor other
  /// memory, the variable gets the values in that memory; if an optimizer has moved a variable, the tensor gets the
  /// variable's values. Throws LogicError for a tensor with another shape or dtype than at construction.
  void adopt(std::size_t replica) const;
  /// Calls `use` while the buffers of the first module have the values that stand for all replicas: the mean over the
  /// replicas for f32 and bf16, the first replica's value for other dtypes. With several processes a collective. Throws
  /// LogicError inside a replica.
  void with_mean_buffers(const std::function<void(torch::nn::Module&)>& use) const;
  /// Gives the buffers of all replicas the values of with_mean_buffers. Buffers of dtypes that lockstep does not have
  /// get the values of their process's first replica. With several processes a collective. Throws LogicError inside a
  /// replica.
  void synchronize_buffers() const;
  /// Throws the errors of verify_mirrored if the replicas' parameters differ, within a process or between
  /// processes. Throws LogicError inside a replica.
  void verify() const;
  /// Calls `load`, which sets the values of the first module's tensors, and copies them to all replicas of this
  /// process. If `load` throws, restores the previous values and rethrows. If `load` gives a tensor another shape,
  /// restores the previous values and throws InputError. Throws LogicError inside a replica.
  void load_first(const std::function<void(torch::nn::Module&)>& load) const;

 private:
  Variable make_variable(const NamedTensors& tensors) const;
  void use_variables() const;
  void check_registered(std::size_t replica) const;
  void adopt_all(const char* what) const;

  Strategy strategy_;
  std::vector<std::shared_ptr<torch::nn::Module>> modules_;
  std::vector<NamedTensors> tensors_;
  std::vector<std::vector<torch::Tensor>> registered_;  ///< by replica: all tensors that its module had at construction
  mutable std::vector<int> checked_;  ///< by replica: number of backwards when check_registered was called last
  mutable std::vector<std::vector<const void*>> memory_;  ///< by replica and tensor: the memory that it was given last
  std::vector<Variable> variables_;   ///< by index in tensors_; undefined for dtypes that lockstep does not have
  std::vector<Variable> parameters_;  ///< the trainable ones among variables_
  std::shared_ptr<GradientSums> gradients_;
};

}  // namespace lockstep::libtorch
