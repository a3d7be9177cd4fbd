#pragma once

#include <torch/types.h>

#include <lockstep/models/libtorch/module_replicas.h>
#include <lockstep/models/optimizers/optimizer.h>

namespace lockstep::libtorch {

/// Calls backward on `loss`, a replica's share of the global loss, and applies the gradients with one of lockstep's
/// optimizers, which sums them over the replicas and updates the parameters in one pass over memory. Afterwards grad()
/// is undefined. Every replica must call it, instead of backward() and step(). Parameters on which the loss does not
/// depend have a gradient of 0. Throws the same errors as Optimizer::apply_gradients and replica_here.
void minimize(const Optimizer& optimizer, const ModuleReplicas& modules, const torch::Tensor& loss);

}  // namespace lockstep::libtorch
