#pragma once

#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep {

/// Runs recurrent layers on cuDNN (cuda/whole_recurrence.cpp); shared by all threads.
WholeRecurrence& cudnn_recurrence();

}  // namespace lockstep
