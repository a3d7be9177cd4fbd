#pragma once

#include <functional>

#include <lockstep/kernels/recurrence/recurrent_states.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Options of masked_recurrence, by Keras' names.
struct MaskedRecurrenceOptions {
  bool return_sequences = false;      ///< the results of all steps instead of the last one
  bool zero_output_for_mask = false;  ///< results of masked steps are 0 instead of the last result before them
  bool return_state = false;          ///< also returns the states of the last unmasked step
  RecurrentStates initial{};          ///< the states that sequences without unmasked steps keep
};

/// Result of masked_recurrence.
struct MaskedRecurrenceResult {
  Tensor y;                  ///< (n, time, units) with return_sequences, else (n, units)
  RecurrentStates states{};  ///< with return_state those after the last unmasked step, (n, units)
};

/// A recurrence over x (n, time, features) that skips the steps where `mask` (n, time), bool, is false: they leave the
/// state as it is. `recurrence` computes the states after every step, (n, time, units), from (n, time, features),
/// from the initial states, each step from earlier ones only. It is called once, on sequences whose unmasked steps
/// have been moved to the front. Differentiable in x and in what `recurrence` reads. Throws InvalidArgument for a mask
/// of another dtype or shape.
MaskedRecurrenceResult masked_recurrence(const Tensor& x, const Tensor& mask, const MaskedRecurrenceOptions& options,
                                         const std::function<RecurrentStates(const Tensor& x)>& recurrence);

}  // namespace lockstep
