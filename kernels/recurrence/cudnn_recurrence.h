#pragma once

#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep {

/// Recurrent layers on cuDNN, for all threads (cuda/whole_recurrence.cpp).
WholeRecurrence& cudnn_recurrence();

}  // namespace lockstep
