#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/losses/cross_entropy_math.h>
#include <lockstep/kernels/losses/losses_kernels.h>

namespace lockstep::kernels {

template <class Executor>
void BinaryCrossEntropy::run(Executor& on) const {
  if (from_logits)
    detail::map<float>(on, BinaryCrossEntropyFromLogits{}, loss, x, targets);
  else
    detail::map<float>(on, BinaryCrossEntropyFromProbabilities{}, loss, x, targets);
}

template <class Executor>
void BinaryCrossEntropyGradient::run(Executor& on) const {
  if (from_logits)
    detail::map<float>(on, detail::Gradient<BinaryCrossEntropyFromLogits>{}, dx, x, targets, dloss);
  else
    detail::map<float>(on, detail::Gradient<BinaryCrossEntropyFromProbabilities>{}, dx, x, targets, dloss);
}

LOCKSTEP_SHARED_KERNEL(BinaryCrossEntropy)
LOCKSTEP_SHARED_KERNEL(BinaryCrossEntropyGradient)

}  // namespace lockstep::kernels
