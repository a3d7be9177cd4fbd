#include "lockstep/kernels/update/update_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/norm_limits.h>
#include <lockstep/kernels/grid/reduction.h>
#include <lockstep/kernels/grid/update.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(LimitNorms)
LOCKSTEP_SHARED_KERNEL(Reduce)
LOCKSTEP_SHARED_KERNEL(Update)
LOCKSTEP_SHARED_KERNEL(SquaredNorm)

}  // namespace lockstep::kernels
