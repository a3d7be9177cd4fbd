#include "lockstep/kernels/reduction/reduction_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/reduction.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(SumMiddle)
LOCKSTEP_SHARED_KERNEL(Argmax)

}  // namespace lockstep::kernels
