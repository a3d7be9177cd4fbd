#include "lockstep/kernels/sorting/sorting_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/sort.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(SortMiddle)
LOCKSTEP_SHARED_KERNEL(SortMiddleGradient)

}  // namespace lockstep::kernels
