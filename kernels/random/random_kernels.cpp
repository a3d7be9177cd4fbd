#include "lockstep/kernels/random/random_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/elementwise.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(Dropout)

}  // namespace lockstep::kernels
