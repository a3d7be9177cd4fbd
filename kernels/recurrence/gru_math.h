#pragma once

#include <lockstep/kernels/elementwise/math.h>
#include <lockstep/runtime/core/host_device.h>

// One unit of a GRU at one time step (Cho et al. 2014), with reset_after=True as in Keras. The suffixes z, r and h are
// Keras' names of the update gate, the reset gate and the candidate. The reset gate multiplies the state's contribution
// to the candidate's pre-activation.

namespace lockstep {

struct GruUnit {
  float update, reset, candidate;  ///< gates and candidate, after their activations
  float h;                         ///< the unit's new state
};

/// Computes a unit's gates, candidate and new state. x_z, x_r and x_h are the input's contributions to their
/// pre-activations; s_z, s_r and s_h are the contributions of the previous state `h_before`.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline GruUnit gru_unit(float x_z, float x_r, float x_h, float s_z,
                                                                    float s_r, float s_h, float h_before) {
  GruUnit unit{};
  unit.update = sigmoid_f32(x_z + s_z);
  unit.reset = sigmoid_f32(x_r + s_r);
  unit.candidate = tanh_f32(x_h + unit.reset * s_h);
  unit.h = unit.update * h_before + (1.0F - unit.update) * unit.candidate;
  return unit;
}

/// Gradients with respect to the gates' pre-activations, to both contributions to the candidate's pre-activation (x_h
/// and s_h) and to the previous state. `h_before` is only the direct part; the caller adds the gradient that flows
/// through s_z, s_r and s_h.
struct GruUnitGradient {
  float sum_z, sum_r, x_h, s_h, h_before;
};

/// Computes a unit's gradients from dh, the gradient of the new state. Does not read `unit.h`.
[[gnu::always_inline]] LOCKSTEP_HOST_DEVICE inline GruUnitGradient gru_unit_gradient(const GruUnit& unit, float s_h,
                                                                                     float h_before, float dh) {
  GruUnitGradient gradient{};
  gradient.x_h = dh * (1.0F - unit.update) * (1.0F - unit.candidate * unit.candidate);
  gradient.s_h = gradient.x_h * unit.reset;
  gradient.sum_z = dh * (h_before - unit.candidate) * unit.update * (1.0F - unit.update);
  gradient.sum_r = gradient.x_h * s_h * unit.reset * (1.0F - unit.reset);
  gradient.h_before = dh * unit.update;
  return gradient;
}

}  // namespace lockstep
