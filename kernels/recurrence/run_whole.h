#pragma once

#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep::recurrence {

/// The result of `op`, "lstm" or "gru", computed by the WholeRecurrence of the calling thread's device and recorded on
/// tapes; undefined when the device cannot run this layer as a whole. All tensors are dense.
Tensor run_whole(const char* op, RecurrentCell cell, const Tensor& x, const RecurrentWeights& weights,
                 bool return_sequences);

}  // namespace lockstep::recurrence
