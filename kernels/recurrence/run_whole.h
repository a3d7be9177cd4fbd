#pragma once

#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep::recurrence {

/// The result of the op named `op`, lstm or gru, by what the calling thread's device has for whole layers, recorded on
/// tapes; undefined when the device has nothing for this layer. All tensors are dense.
Tensor run_whole(const char* op, RecurrentCell cell, const Tensor& x, const RecurrentWeights& weights,
                 bool return_sequences);

}  // namespace lockstep::recurrence
