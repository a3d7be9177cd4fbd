// What kernels/common shares between the backends must be device code too: a kernel for each family, compiled by every
// build that has the CUDA toolkit and run by none.

#include <lockstep/kernels/common/cross_entropy.h>
#include <lockstep/kernels/common/dropout.h>
#include <lockstep/kernels/common/elementwise.h>
#include <lockstep/kernels/common/gru.h>
#include <lockstep/kernels/common/lstm.h>
#include <lockstep/kernels/common/norm_limits.h>
#include <lockstep/kernels/common/optimizer.h>
#include <lockstep/kernels/common/philox.h>
#include <lockstep/kernels/common/reduction.h>

namespace lockstep {
namespace {

template <class F>
__global__ void unary(F f, const float* x, float* y, float* dx) {
  const int i = static_cast<int>(threadIdx.x);
  y[i] = f(x[i]);
  dx[i] = f.gradient(F::from_result ? y[i] : x[i], 1.0F);
}

template <class F>
__global__ void binary(F f, const float* a, const float* b, float* y) {
  y[threadIdx.x] = f(a[threadIdx.x], b[threadIdx.x]);
}

template <class F>
__global__ void loss(F f, const float* x, const float* target, float* y, float* dx) {
  const int i = static_cast<int>(threadIdx.x);
  y[i] = f(x[i], target[i]);
  dx[i] = f.gradient(x[i], target[i], 1.0F);
}

template <class F, class T>
__global__ void reduce(F f, const T* a, const T* b, T* y) {
  using A = Accumulator<T>;
  const A both = f.combine(static_cast<A>(a[threadIdx.x]), static_cast<A>(b[threadIdx.x]));
  y[threadIdx.x] = static_cast<T>(f.finish(both, static_cast<A>(2)));
}

__global__ void largest(const float* x, int n, std::int64_t* y) {
  Largest largest{x[0], 0};
  for (int i = 1; i < n; ++i) largest.offer(x[i], i);
  *y = largest.index;
}

template <class To, class From>
__global__ void convert(const From* x, To* y) {
  y[threadIdx.x] = convert_element<To>(x[threadIdx.x]);
}

__global__ void dropout(DropoutRule f, RandomKey key, const float* x, float* y) {
  const PhiloxBlock block = RandomSequence(key).block(threadIdx.x);
  for (int w = 0; w < 4; ++w) y[threadIdx.x * 4 + w] = f(x[threadIdx.x * 4 + w], block.word[w]);
}

template <class Rule>
__global__ void update(Rule rule, OptimizerStep step, const float* gradients, float* w, float* state, float* average) {
  const int i = static_cast<int>(threadIdx.x);
  const float gradient = scaled_and_clipped(step, gradients[i]);
  const float before = decayed(step, w[i]);
  if constexpr (Rule::slots == 0) w[i] = rule(before, gradient);
  if constexpr (Rule::slots == 1) w[i] = rule(before, gradient, state[i]);
  if constexpr (Rule::slots == 2) w[i] = rule(before, gradient, state[i], state[i + 1]);
  if constexpr (Rule::slots == 3) w[i] = rule(before, gradient, state[i], state[i + 1], state[i + 2]);
  average[i] = averaged(step, average[i], w[i]);
}

__global__ void lstm(const float* sums, float* state, float* gradient) {
  const LstmUnit unit = lstm_unit(sums[0], sums[1], sums[2], sums[3], state[0]);
  gradient[0] = lstm_unit_gradient(unit, state[0], state[1], state[2]).c_before;
  state[0] = unit.c;
}

__global__ void gru(const float* sums, float* state, float* gradient) {
  const GruUnit unit = gru_unit(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], state[0]);
  gradient[0] = gru_unit_gradient(unit, sums[5], state[0], state[1]).h_before;
  state[0] = unit.h;
}

__global__ void scale(NormLimits limits, const double* norms, double* factors) {
  factors[threadIdx.x] = norm_factor(limits, norms[threadIdx.x]);
}

}  // namespace

/// Makes every kernel above be compiled for the device.
void launch_all(float* f, double* d, bfloat16* b, std::int64_t* n) {
  for (int op = 0; op <= static_cast<int>(UnaryOp::tanh); ++op)
    visit_unary(static_cast<UnaryOp>(op), [&](auto functor) { unary<<<1, 1>>>(functor, f, f, f); });
  for (int op = 0; op <= static_cast<int>(BinaryOp::divide); ++op)
    visit_binary(static_cast<BinaryOp>(op), [&](auto functor) { binary<<<1, 1>>>(functor, f, f, f); });
  loss<<<1, 1>>>(BinaryCrossEntropyFromLogits{}, f, f, f, f);
  loss<<<1, 1>>>(BinaryCrossEntropyFromProbabilities{}, f, f, f, f);
  for (int op = 0; op <= static_cast<int>(ReduceOp::prod); ++op) {
    visit_reduce(static_cast<ReduceOp>(op), [&](auto functor) {
      reduce<<<1, 1>>>(functor, f, f, f);
      reduce<<<1, 1>>>(functor, b, b, b);
      reduce<<<1, 1>>>(functor, n, n, n);
    });
  }
  largest<<<1, 1>>>(f, 1, n);
  convert<bfloat16><<<1, 1>>>(f, b);
  convert<float><<<1, 1>>>(b, f);
  convert<std::int64_t><<<1, 1>>>(b, n);
  dropout<<<1, 1>>>(DropoutRule(0.5F), RandomKey{}, f, f);
  const OptimizerStep::Rule rules[] = {SgdStep{},     SgdStep{.momentum = 1},
                                       AdamStep{},    AdamStep{.amsgrad = true},
                                       RmspropStep{}, RmspropStep{.momentum = 1, .centered = true},
                                       AdagradStep{}, LambDirectionStep{}};
  for (const OptimizerStep::Rule& of : rules)
    visit_rule(of, [&](auto rule) { update<<<1, 1>>>(rule, OptimizerStep(of), f, f, f, f); });
  gru<<<1, 1>>>(f, f, f);
  lstm<<<1, 1>>>(f, f, f);
  scale<<<1, 1>>>(NormLimits{}, d, d);
}

}  // namespace lockstep
