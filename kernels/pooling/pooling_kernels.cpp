#include "lockstep/kernels/pooling/pooling_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/pool2d.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(MaxPool2d)
LOCKSTEP_SHARED_KERNEL(MaxPool2dGradient)
LOCKSTEP_SHARED_KERNEL(AveragePool2d)
LOCKSTEP_SHARED_KERNEL(AveragePool2dGradient)

}  // namespace lockstep::kernels
