#include <lockstep/kernels/recurrence/lstm_math.h>
#include <lockstep/kernels/recurrence/recurrence.h>
#include <lockstep/kernels/recurrence/recurrence_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

// These functions process one example. The values of the four gates are `units` apart.

void lstm_step_row(float* gates, const float* recurrent, const float* c_before, float* c, float* h,
                   std::int64_t units) {
#pragma omp simd
  for (std::int64_t u = 0; u < units; ++u) {
    const LstmUnit unit = lstm_unit(gates[u] + recurrent[u], gates[units + u] + recurrent[units + u],
                                    gates[2 * units + u] + recurrent[2 * units + u],
                                    gates[3 * units + u] + recurrent[3 * units + u], c_before[u]);
    gates[u] = unit.input;
    gates[units + u] = unit.forget;
    gates[2 * units + u] = unit.candidate;
    gates[3 * units + u] = unit.output;
    c[u] = unit.c;
    h[u] = unit.h;
  }
}

void lstm_gradient_row(const float* gates, const float* c_before, const float* c, const float* dh, float* dc,
                       float* dsums, std::int64_t units) {
#pragma omp simd
  for (std::int64_t u = 0; u < units; ++u) {
    const LstmUnit unit{.input = gates[u],
                        .forget = gates[units + u],
                        .candidate = gates[2 * units + u],
                        .output = gates[3 * units + u],
                        .c = c[u],
                        .h = 0};
    const LstmUnitGradient gradient = lstm_unit_gradient(unit, c_before[u], dh[u], dc[u]);
    dsums[u] = gradient.sum_i;
    dsums[units + u] = gradient.sum_f;
    dsums[2 * units + u] = gradient.sum_c;
    dsums[3 * units + u] = gradient.sum_o;
    dc[u] = gradient.c_before;
  }
}

}  // namespace

void kernels::LstmStep::on_cpu() const {
  const std::int64_t units = h.dim(1);
  parallel_for(h.dim(0), std::max<std::int64_t>(1, recurrence::units_per_thread / units),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row)
                   lstm_step_row(gates.data<float>() + row * 4 * units, recurrent.data<float>() + row * 4 * units,
                                 c_before.data<float>() + row * units, c.data<float>() + row * units,
                                 h.data<float>() + row * units, units);
               });
}

void kernels::LstmStepGradient::on_cpu() const {
  const std::int64_t units = dh.dim(1);
  parallel_for(dh.dim(0), std::max<std::int64_t>(1, recurrence::units_per_thread / units),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row)
                   lstm_gradient_row(gates.data<float>() + row * 4 * units, c_before.data<float>() + row * units,
                                     c.data<float>() + row * units, dh.data<float>() + row * units,
                                     dc.data<float>() + row * units, dsums.data<float>() + row * 4 * units, units);
               });
}

}  // namespace lockstep
