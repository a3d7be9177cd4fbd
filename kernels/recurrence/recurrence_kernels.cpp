#include "lockstep/kernels/recurrence/recurrence_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/recurrence.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(LstmStep)
LOCKSTEP_SHARED_KERNEL(LstmStepGradient)
LOCKSTEP_SHARED_KERNEL(GruStep)
LOCKSTEP_SHARED_KERNEL(GruStepGradient)

}  // namespace lockstep::kernels
