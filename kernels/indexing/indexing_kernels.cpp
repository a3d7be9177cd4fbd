#include "lockstep/kernels/indexing/indexing_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/rows.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(GatherRows)
LOCKSTEP_SHARED_KERNEL(ScatterAddRows)

}  // namespace lockstep::kernels
