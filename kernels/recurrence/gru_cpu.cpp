#include <lockstep/kernels/recurrence/gru_math.h>
#include <lockstep/kernels/recurrence/recurrence.h>
#include <lockstep/kernels/recurrence/recurrence_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

// These functions process one example. The values of the three gates are `units` apart.

void gru_step_row(float* gates, const float* recurrent, const float* h_before, float* state_sum, float* h,
                  std::int64_t units) {
#pragma omp simd
  for (std::int64_t u = 0; u < units; ++u) {
    const GruUnit unit = gru_unit(gates[u], gates[units + u], gates[2 * units + u], recurrent[u], recurrent[units + u],
                                  recurrent[2 * units + u], h_before[u]);
    state_sum[u] = recurrent[2 * units + u];
    gates[u] = unit.update;
    gates[units + u] = unit.reset;
    gates[2 * units + u] = unit.candidate;
    h[u] = unit.h;
  }
}

void gru_gradient_row(const float* gates, const float* state_sum, const float* h_before, float* dh, float* dgates,
                      float* drecurrent, std::int64_t units) {
#pragma omp simd
  for (std::int64_t u = 0; u < units; ++u) {
    const GruUnit unit{.update = gates[u], .reset = gates[units + u], .candidate = gates[2 * units + u], .h = 0};
    const GruUnitGradient gradient = gru_unit_gradient(unit, state_sum[u], h_before[u], dh[u]);
    dgates[u] = gradient.sum_z;
    dgates[units + u] = gradient.sum_r;
    dgates[2 * units + u] = gradient.x_h;
    drecurrent[u] = gradient.sum_z;
    drecurrent[units + u] = gradient.sum_r;
    drecurrent[2 * units + u] = gradient.s_h;
    dh[u] = gradient.h_before;
  }
}

}  // namespace

void kernels::GruStep::on_cpu() const {
  const std::int64_t units = h.dim(1);
  parallel_for(h.dim(0), std::max<std::int64_t>(1, recurrence::units_per_thread / units),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row)
                   gru_step_row(gates.data<float>() + row * 3 * units, recurrent.data<float>() + row * 3 * units,
                                h_before.data<float>() + row * units, state_sum.data<float>() + row * units,
                                h.data<float>() + row * units, units);
               });
}

void kernels::GruStepGradient::on_cpu() const {
  const std::int64_t units = dh.dim(1);
  parallel_for(dh.dim(0), std::max<std::int64_t>(1, recurrence::units_per_thread / units),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row)
                   gru_gradient_row(gates.data<float>() + row * 3 * units, state_sum.data<float>() + row * units,
                                    h_before.data<float>() + row * units, dh.data<float>() + row * units,
                                    dgates.data<float>() + row * 3 * units, drecurrent.data<float>() + row * 3 * units,
                                    units);
               });
}

}  // namespace lockstep
