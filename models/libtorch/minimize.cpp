#include "lockstep/models/libtorch/minimize.h"

#include <vector>

#include <ATen/DLConvertor.h>

#include <lockstep/models/libtorch/replicated.h>
#include <lockstep/runtime/tensor/dlpack.h>

namespace lockstep::libtorch {

void minimize(const Optimizer& optimizer, const ModuleReplicas& modules, const torch::Tensor& loss) {
  const int replica = replica_here(modules.strategy());
  {
    const GradientSums::Pause pause(modules.gradients(), replica);
    loss.backward();
  }
  std::vector<Tensor> gradients;
  for (torch::Tensor& gradient : modules.gradients().take_unsummed(replica)) {
    if (gradient.defined() && gradient.is_sparse()) gradient = gradient.to_dense();
    gradients.push_back(gradient.defined() ? from_dlpack(at::toDLPack(gradient.contiguous())) : Tensor());
  }
  optimizer.apply_gradients(gradients, modules.parameters());
  modules.adopt(static_cast<std::size_t>(replica));  // the optimizer's first step moves the variables
}

}  // namespace lockstep::libtorch
