#include "lockstep/kernels/recurrence/recurrence_kernels.h"

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/recurrence/gru_math.h>
#include <lockstep/kernels/recurrence/lstm_math.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// One time step of an LSTM or a GRU; one thread for each unit of each example. The gates of an example are contiguous.

namespace lockstep::kernels {

namespace detail {

/// Index of the first of the `gates` gates of unit number `i`, counted over all examples.
LOCKSTEP_HOST_DEVICE inline Index first_gate(Index i, Index units, int gates) {
  const Index example = i / units;
  return example * gates * units + (i - example * units);
}

struct LstmStep {
  float* gates;
  const float* recurrent;
  const float* c_before;
  float* c;
  float* h;
  Index units;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index at = first_gate(i, units, 4);
    float* const gate = gates + at;
    const float* const state = recurrent + at;
    const LstmUnit unit = lstm_unit(gate[0] + state[0], gate[units] + state[units], gate[2 * units] + state[2 * units],
                                    gate[3 * units] + state[3 * units], c_before[i]);
    gate[0] = unit.input;
    gate[units] = unit.forget;
    gate[2 * units] = unit.candidate;
    gate[3 * units] = unit.output;
    c[i] = unit.c;
    h[i] = unit.h;
  }
};

struct LstmStepGradient {
  const float* gates;
  const float* c_before;
  const float* c;
  const float* dh;
  float* dc;
  float* dsums;
  Index units;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index at = first_gate(i, units, 4);
    const float* const gate = gates + at;
    float* const to = dsums + at;
    const LstmUnit unit{gate[0], gate[units], gate[2 * units], gate[3 * units], c[i], 0};
    const LstmUnitGradient gradient = lstm_unit_gradient(unit, c_before[i], dh[i], dc[i]);
    to[0] = gradient.sum_i;
    to[units] = gradient.sum_f;
    to[2 * units] = gradient.sum_c;
    to[3 * units] = gradient.sum_o;
    dc[i] = gradient.c_before;
  }
};

struct GruStep {
  float* gates;
  const float* recurrent;
  const float* h_before;
  float* state_sum;
  float* h;
  Index units;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index at = first_gate(i, units, 3);
    float* const gate = gates + at;
    const float* const state = recurrent + at;
    const GruUnit unit =
        gru_unit(gate[0], gate[units], gate[2 * units], state[0], state[units], state[2 * units], h_before[i]);
    state_sum[i] = state[2 * units];
    gate[0] = unit.update;
    gate[units] = unit.reset;
    gate[2 * units] = unit.candidate;
    h[i] = unit.h;
  }
};

struct GruStepGradient {
  const float* gates;
  const float* state_sum;
  const float* h_before;
  float* dh;
  float* dgates;
  float* drecurrent;
  Index units;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index at = first_gate(i, units, 3);
    const float* const gate = gates + at;
    const GruUnit unit{gate[0], gate[units], gate[2 * units], 0};
    const GruUnitGradient gradient = gru_unit_gradient(unit, state_sum[i], h_before[i], dh[i]);
    dgates[at] = gradient.sum_z;
    dgates[at + units] = gradient.sum_r;
    dgates[at + 2 * units] = gradient.x_h;
    drecurrent[at] = gradient.sum_z;
    drecurrent[at + units] = gradient.sum_r;
    drecurrent[at + 2 * units] = gradient.s_h;
    dh[i] = gradient.h_before;
  }
};

}  // namespace detail

template <class Executor>
void LstmStep::run(Executor& on) const {
  on.for_each(h.elements(), detail::LstmStep{gates.data<float>(), recurrent.data<float>(), c_before.data<float>(),
                                             c.data<float>(), h.data<float>(), h.dim(1)});
}

template <class Executor>
void LstmStepGradient::run(Executor& on) const {
  on.for_each(dh.elements(),
              detail::LstmStepGradient{gates.data<float>(), c_before.data<float>(), c.data<float>(), dh.data<float>(),
                                       dc.data<float>(), dsums.data<float>(), dh.dim(1)});
}

template <class Executor>
void GruStep::run(Executor& on) const {
  on.for_each(h.elements(), detail::GruStep{gates.data<float>(), recurrent.data<float>(), h_before.data<float>(),
                                            state_sum.data<float>(), h.data<float>(), h.dim(1)});
}

template <class Executor>
void GruStepGradient::run(Executor& on) const {
  on.for_each(dh.elements(),
              detail::GruStepGradient{gates.data<float>(), state_sum.data<float>(), h_before.data<float>(),
                                      dh.data<float>(), dgates.data<float>(), drecurrent.data<float>(), dh.dim(1)});
}

LOCKSTEP_SHARED_KERNEL(LstmStep)
LOCKSTEP_SHARED_KERNEL(LstmStepGradient)
LOCKSTEP_SHARED_KERNEL(GruStep)
LOCKSTEP_SHARED_KERNEL(GruStepGradient)

}  // namespace lockstep::kernels
