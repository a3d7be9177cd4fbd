#pragma once

#include <functional>

#include <lockstep/kernels/recurrence/recurrent_states.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Options of masked_recurrence, by Keras' names.
struct MaskedRecurrenceOptions {
  bool return_sequences = false;  ///< returns the results of all steps, not only of the last one
  /// Masked steps give 0, not the last unmasked step's result. Without return_sequences, y is 0 for a sequence whose
  /// last step is masked.
  bool zero_output_for_mask = false;
  bool return_state = false;  ///< also returns the states of the last unmasked step
  /// The states from which `recurrence` starts, (n, units). With return_state, they are also the final states of
  /// sequences whose steps are all masked. An undefined state counts as 0.
  RecurrentStates initial{};
};

/// Result of masked_recurrence. y is 0 at the steps before a sequence's first unmasked step, whatever the initial
/// state. Without return_sequences, y is 0 for a sequence whose steps are all masked.
struct MaskedRecurrenceResult {
  Tensor y;                  ///< (n, time, units) with return_sequences, else (n, units)
  RecurrentStates states{};  ///< with return_state: states after the last unmasked step, (n, units)
};

/// Runs a recurrence over x (n, time, features) and skips the steps where `mask` (n, time), bool, is false: these steps
/// leave the state unchanged. `recurrence` computes the states after every step, (n, time, units), from sequences (n,
/// time, features); it must itself start from `options.initial`, and a step must not depend on later steps.
/// `recurrence` is called once, on sequences whose unmasked steps have been moved to the front. Differentiable in x, in
/// `options.initial` and in the tensors that `recurrence` reads. Throws InvalidArgument if x is not of rank 3 or has no
/// steps, and if the mask has another shape or dtype.
MaskedRecurrenceResult masked_recurrence(const Tensor& x, const Tensor& mask, const MaskedRecurrenceOptions& options,
                                         const std::function<RecurrentStates(const Tensor& x)>& recurrence);

}  // namespace lockstep
