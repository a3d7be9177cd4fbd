#include "lockstep/kernels/elementwise/elementwise_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/convert.h>
#include <lockstep/kernels/grid/elementwise.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(Unary)
LOCKSTEP_SHARED_KERNEL(UnaryGradient)
LOCKSTEP_SHARED_KERNEL(Binary)
LOCKSTEP_SHARED_KERNEL(Affine)
LOCKSTEP_SHARED_KERNEL(Accumulate)
LOCKSTEP_SHARED_KERNEL(Convert)
LOCKSTEP_SHARED_KERNEL(Fill)
LOCKSTEP_SHARED_KERNEL(MovingAverage)

}  // namespace lockstep::kernels
