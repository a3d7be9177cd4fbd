#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/losses/cross_entropy_math.h>
#include <lockstep/kernels/losses/losses_kernels.h>

namespace lockstep::kernels {

template <class Executor>
void BinaryCrossEntropy::run(Executor& on) const {
  const detail::DenseOperands<2, float> operands(loss, x, targets);
  if (from_logits)
    detail::map(on, BinaryCrossEntropyFromLogits{}, operands);
  else
    detail::map(on, BinaryCrossEntropyFromProbabilities{}, operands);
}

template <class Executor>
void BinaryCrossEntropyGradient::run(Executor& on) const {
  const detail::DenseOperands<3, float> operands(dx, x, targets, dloss);
  if (from_logits)
    detail::map(on, detail::Gradient<BinaryCrossEntropyFromLogits>{}, operands);
  else
    detail::map(on, detail::Gradient<BinaryCrossEntropyFromProbabilities>{}, operands);
}

LOCKSTEP_SHARED_KERNEL(BinaryCrossEntropy)
LOCKSTEP_SHARED_KERNEL(BinaryCrossEntropyGradient)

}  // namespace lockstep::kernels
