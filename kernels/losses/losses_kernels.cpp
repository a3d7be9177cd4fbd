#include "lockstep/kernels/losses/losses_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/cross_entropy.h>
#include <lockstep/kernels/grid/elementwise.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(Softmax)
LOCKSTEP_SHARED_KERNEL(SoftmaxGradient)
LOCKSTEP_SHARED_KERNEL(LogSoftmax)
LOCKSTEP_SHARED_KERNEL(LogSoftmaxGradient)
LOCKSTEP_SHARED_KERNEL(SparseSoftmaxCrossEntropy)
LOCKSTEP_SHARED_KERNEL(SparseSoftmaxCrossEntropyGradient)
LOCKSTEP_SHARED_KERNEL(BinaryCrossEntropy)
LOCKSTEP_SHARED_KERNEL(BinaryCrossEntropyGradient)

}  // namespace lockstep::kernels
