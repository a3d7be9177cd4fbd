#include <algorithm>

#include <lockstep/kernels/cpu/lanes.h>
#include <lockstep/kernels/cpu/wide.h>
#include <lockstep/kernels/losses/cross_entropy_math.h>
#include <lockstep/kernels/losses/losses_kernels.h>
#include <lockstep/kernels/op/softmax_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t grain = 8192;  // elements per thread; each costs an exponential or a logarithm

/// Calls body(row, first element of row) for every row of x (rows, n).
template <class Body>
void for_each_row(const Tensor& x, const Body& body) {
  const std::int64_t n = x.dim(1);
  parallel_for(x.dim(0), std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, n)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) body(row, row * n);
               });
}

/// The largest element of one row, n > 0.
float largest_of(const float* x, std::int64_t n) {
  constexpr std::int64_t short_row = 32;  // for shorter rows, combining the lanes costs more than they save
  if (n < short_row) return *std::max_element(x, x + n);
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

/// y = softmax of one row, n > 0.
RowSoftmax softmax_row(const float* x, float* y, std::int64_t n) {
  RowSoftmax row{.largest = largest_of(x, n)};
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = row.exponential(x[i]);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(y[i]);
  row.sum = sum;
  const float scale = row.scale();
  for (std::int64_t i = 0; i < n; ++i) y[i] *= scale;
  return row;
}

/// Scales the rows of rounded probabilities, in place, so that they add up to 1 again.
Tensor scaled_to_1(const Tensor& y) {
  float* const p = y.data<float>();
  for_each_row(y, [=, n = y.dim(1)](std::int64_t, std::int64_t at) {
    const double sum = cpu::sum_in_lanes(at, at + n, [=](std::int64_t i) { return static_cast<double>(p[i]); });
    const float scale = 1.0F / static_cast<float>(sum);
    for (std::int64_t i = at; i < at + n; ++i) p[i] *= scale;
  });
  return y;
}

}  // namespace

// bf16 is converted to f32 and back: a row of exponentials needs f32 memory.

void kernels::Softmax::on_cpu() const {
  if (y.dtype() == DType::bf16)
    return cpu::narrowed(y, [&](const Tensor& wide) { Softmax{cpu::widened(logits), wide}.on_cpu(); });
  const float* from = logits.data<float>();
  float* to = y.data<float>();
  const std::int64_t n = logits.dim(1);
  if (n == 0) return;
  for_each_row(logits, [=](std::int64_t, std::int64_t at) { softmax_row(from + at, to + at, n); });
}

void kernels::SoftmaxGradient::on_cpu() const {
  if (dx.dtype() == DType::bf16)
    return cpu::narrowed(dx, [&](const Tensor& wide) {
      SoftmaxGradient{scaled_to_1(cpu::widened(y)), cpu::widened(dy), wide}.on_cpu();
    });
  const float* out = y.data<float>();
  const float* upper = dy.data<float>();
  float* to = dx.data<float>();
  const std::int64_t n = y.dim(1);
  for_each_row(y, [=](std::int64_t, std::int64_t at) {
    const auto product = [=](std::int64_t i) { return static_cast<double>(upper[i]) * static_cast<double>(out[i]); };
    const auto dot = static_cast<float>(cpu::sum_in_lanes(at, at + n, product));
    for (std::int64_t i = at; i < at + n; ++i) to[i] = softmax_gradient_of(out[i], upper[i], dot);
  });
}

void kernels::LogSoftmax::on_cpu() const {
  if (y.dtype() == DType::bf16)
    return cpu::narrowed(y, [&](const Tensor& wide) { LogSoftmax{cpu::widened(logits), wide}.on_cpu(); });
  const float* from = logits.data<float>();
  float* to = y.data<float>();
  const std::int64_t n = logits.dim(1);
  if (n == 0) return;
  for_each_row(logits, [=](std::int64_t, std::int64_t at) {
    const RowSoftmax r = softmax_row(from + at, to + at, n);
    const float log_sum = r.log_sum();
    for (std::int64_t i = at; i < at + n; ++i) to[i] = r.log_probability(from[i], log_sum);
  });
}

void kernels::LogSoftmaxGradient::on_cpu() const {
  if (dx.dtype() == DType::bf16)
    return cpu::narrowed(dx, [&](const Tensor& wide) {
      LogSoftmaxGradient{cpu::widened(y), cpu::widened(dy), wide}.on_cpu();
    });
  const float* out = y.data<float>();
  const float* upper = dy.data<float>();
  float* to = dx.data<float>();
  const std::int64_t n = y.dim(1);
  for_each_row(y, [=](std::int64_t, std::int64_t at) {
    const auto sum =
        static_cast<float>(cpu::sum_in_lanes(at, at + n, [=](std::int64_t i) { return double{upper[i]}; }));
    for (std::int64_t i = at; i < at + n; ++i) to[i] = log_softmax_gradient_of(out[i], upper[i], sum);
  });
}

std::int64_t kernels::SparseSoftmaxCrossEntropy::on_cpu() const {
  if (loss.dtype() == DType::bf16) {
    const Tensor wide = Tensor::empty(loss.shape());
    const std::int64_t bad = SparseSoftmaxCrossEntropy{cpu::widened(logits), labels, wide, probabilities}.on_cpu();
    if (bad < 0) Convert{wide, loss}.on_cpu();
    return bad;
  }
  const float* from = logits.data<float>();
  float* to = probabilities.data<float>();
  float* losses = loss.data<float>();
  const std::int64_t n = logits.dim(1);
  const auto label = labels.span<const std::int64_t>();
  const auto bad = std::find_if(label.begin(), label.end(), [n](std::int64_t l) { return l < 0 || l >= n; });
  if (bad != label.end()) return bad - label.begin();
  for_each_row(logits, [=](std::int64_t row, std::int64_t at) {
    const RowSoftmax r = softmax_row(from + at, to + at, n);
    losses[row] = r.loss(from[at + label[static_cast<std::size_t>(row)]]);
  });
  return -1;
}

void kernels::SparseSoftmaxCrossEntropyGradient::on_cpu() const {
  if (dx.dtype() == DType::bf16)
    return cpu::narrowed(dx, [&](const Tensor& wide) {
      SparseSoftmaxCrossEntropyGradient{probabilities, labels, cpu::widened(dloss), wide}.on_cpu();
    });
  const float* p = probabilities.data<float>();
  const std::int64_t* label = labels.data<std::int64_t>();
  const float* upper = dloss.data<float>();
  float* to = dx.data<float>();
  const std::int64_t n = probabilities.dim(1);
  for_each_row(probabilities, [=](std::int64_t row, std::int64_t at) {
    const float scale = upper[row];
    for (std::int64_t i = at; i < at + n; ++i) to[i] = cross_entropy_gradient(p[i], false, scale);
    const std::int64_t hit = at + label[row];
    to[hit] = cross_entropy_gradient(p[hit], true, scale);
  });
}

namespace {

template <class F>
void binary_loss(F f, const Tensor& x, const Tensor& targets, const Tensor& loss) {
  const float* from = x.data<float>();
  const float* target = targets.data<float>();
  float* to = loss.data<float>();
  parallel_for(loss.elements(), grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = f(from[i], target[i]);
  });
}

template <class F>
void binary_loss_gradient(F f, const Tensor& x, const Tensor& targets, const Tensor& dloss, const Tensor& dx) {
  const float* from = x.data<float>();
  const float* target = targets.data<float>();
  const float* upper = dloss.data<float>();
  float* to = dx.data<float>();
  parallel_for(dx.elements(), grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = f.gradient(from[i], target[i], upper[i]);
  });
}

}  // namespace

void kernels::BinaryCrossEntropy::on_cpu() const {
  if (from_logits)
    binary_loss(BinaryCrossEntropyFromLogits{}, x, targets, loss);
  else
    binary_loss(BinaryCrossEntropyFromProbabilities{}, x, targets, loss);
}

void kernels::BinaryCrossEntropyGradient::on_cpu() const {
  if (from_logits)
    binary_loss_gradient(BinaryCrossEntropyFromLogits{}, x, targets, dloss, dx);
  else
    binary_loss_gradient(BinaryCrossEntropyFromProbabilities{}, x, targets, dloss, dx);
}

}  // namespace lockstep
