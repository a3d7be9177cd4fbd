#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/training/totals.h>

namespace lockstep {

/// The results of a forward pass, on the replica's device.
struct Forward {
  Predictions predictions{};  ///< predictions, by output
  BatchLosses losses{};       ///< the losses of the outputs
  Tensor penalty{};  ///< the regularizers' penalties and the added losses, a scalar; undefined if there are none
  Tensor loss{};     ///< this replica's share of the global batch's loss, penalty included
};

/// The computation of a training step on each replica. The network, outputs, optimizer and variables must outlive it.
class StepCompute {
 public:
  /// The arguments are parts of a compiled model.
  StepCompute(const Network& network, const std::vector<CompiledOutput>& outputs, const Optimizer& optimizer,
              const std::vector<Variable>& trainable)
      : network_(network), outputs_(outputs), optimizer_(optimizer), trainable_(trainable) {}

  /// The forward pass on this replica's part of a global batch of `global_size` rows; recorded by open tapes. Throws
  /// InvalidArgument for a model without any loss.
  Forward forward(const Batch& local, std::int64_t global_size) const;
  /// Forward, backward and update.
  Forward run(const Batch& local, std::int64_t global_size) const;

  ///@{
  /// The objects given to the constructor.
  const Network& network() const { return network_; }
  const std::vector<CompiledOutput>& outputs() const { return outputs_; }
  const Optimizer& optimizer() const { return optimizer_; }
  const std::vector<Variable>& trainable() const { return trainable_; }
  ///@}

 private:
  const Network& network_;
  const std::vector<CompiledOutput>& outputs_;
  const Optimizer& optimizer_;
  const std::vector<Variable>& trainable_;
};

}  // namespace lockstep
