#include "lockstep/kernels/scan/scan_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/scan.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(CumulativeSum)

}  // namespace lockstep::kernels
