#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/losses/cross_entropy_math.h>
#include <lockstep/kernels/losses/losses_kernels.h>
#include <lockstep/kernels/op/softmax_kernels.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Softmax and the losses and gradients based on it. Each row is processed by one team.

namespace lockstep::kernels {

namespace detail {

/// y = softmax of the row x, n > 0. y[i] is written by the thread to which `team` assigns i.
template <class Team>
LOCKSTEP_HOST_DEVICE RowSoftmax softmax_row(Team& team, const float* x, float* y, Index n) {
  RowSoftmax row{};
  row.largest = team.reduce(
      n, x[0], [=](Index i) { return x[i]; }, [](float a, float b) { return a < b ? b : a; });
  const auto exponential = [&](Index i) {
    y[i] = row.exponential(x[i]);
    return static_cast<double>(y[i]);
  };
  row.sum = team.reduce(n, 0.0, exponential, [](double a, double b) { return a + b; });
  const float scale = row.scale();
  team.each(n, [=](Index i) { y[i] *= scale; });
  return row;
}

template <class Team, class Load>
LOCKSTEP_HOST_DEVICE float row_sum(Team& team, Index n, const Load& load) {
  return static_cast<float>(team.reduce(n, 0.0, load, [](double a, double b) { return a + b; }));
}

struct Softmax {
  const float* x;
  float* y;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    softmax_row(team, x + row * n, y + row * n, n);
  }
};

struct SoftmaxGradient {
  const float* y;
  const float* dy;
  float* dx;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const float* const out = y + row * n;
    const float* const upper = dy + row * n;
    float* const to = dx + row * n;
    const float dot =
        row_sum(team, n, [=](Index i) { return static_cast<double>(upper[i]) * static_cast<double>(out[i]); });
    team.each(n, [=](Index i) { to[i] = softmax_gradient_of(out[i], upper[i], dot); });
  }
};

struct LogSoftmax {
  const float* x;
  float* y;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const float* const from = x + row * n;
    float* const to = y + row * n;
    const RowSoftmax softmax = softmax_row(team, from, to, n);
    const float log_sum = softmax.log_sum();
    team.each(n, [=](Index i) { to[i] = softmax.log_probability(from[i], log_sum); });
  }
};

struct LogSoftmaxGradient {
  const float* y;
  const float* dy;
  float* dx;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const float* const out = y + row * n;
    const float* const upper = dy + row * n;
    float* const to = dx + row * n;
    const float sum = row_sum(team, n, [=](Index i) { return static_cast<double>(upper[i]); });
    team.each(n, [=](Index i) { to[i] = log_softmax_gradient_of(out[i], upper[i], sum); });
  }
};

/// Reports a row whose label is out of range and computes no loss for it.
template <class Faults>
struct SparseCrossEntropy {
  const float* x;
  const std::int64_t* labels;
  float* loss;
  float* probabilities;
  Index n;
  Faults faults;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const Index label = labels[row];
    if (label < 0 || label >= n) {
      team.once([&] { faults(row); });
      return;
    }
    const float* const from = x + row * n;
    const RowSoftmax softmax = softmax_row(team, from, probabilities + row * n, n);
    team.once([&] { loss[row] = softmax.loss(from[label]); });
  }
};

struct SparseCrossEntropyGradient {
  const float* probabilities;
  const std::int64_t* labels;
  const float* dloss;
  float* dx;
  Index n;

  LOCKSTEP_HOST_DEVICE void operator()(Index element) const {
    const Index row = element / n;
    const Index i = element - row * n;
    dx[element] = cross_entropy_gradient(probabilities[element], i == labels[row], dloss[row]);
  }
};

}  // namespace detail

template <class Executor>
void Softmax::run(Executor& on) const {
  const Index n = logits.dim(1);
  if (n > 0) on.teams(logits.dim(0), n, detail::Softmax{logits.data<float>(), y.data<float>(), n});
}

template <class Executor>
void SoftmaxGradient::run(Executor& on) const {
  const Index n = y.dim(1);
  on.teams(y.dim(0), n, detail::SoftmaxGradient{y.data<float>(), dy.data<float>(), dx.data<float>(), n});
}

template <class Executor>
void LogSoftmax::run(Executor& on) const {
  const Index n = logits.dim(1);
  if (n > 0) on.teams(logits.dim(0), n, detail::LogSoftmax{logits.data<float>(), y.data<float>(), n});
}

template <class Executor>
void LogSoftmaxGradient::run(Executor& on) const {
  const Index n = y.dim(1);
  on.teams(y.dim(0), n, detail::LogSoftmaxGradient{y.data<float>(), dy.data<float>(), dx.data<float>(), n});
}

template <class Executor>
std::int64_t SparseSoftmaxCrossEntropy::run(Executor& on) const {
  const Index n = logits.dim(1);
  auto faults = on.faults("labels of sparse_softmax_cross_entropy");
  const detail::SparseCrossEntropy<decltype(faults)> f{
      logits.data<float>(), labels.data<std::int64_t>(), loss.data<float>(), probabilities.data<float>(), n, faults};
  on.teams(logits.dim(0), n, f);
  return on.first_fault(faults);
}

template <class Executor>
void SparseSoftmaxCrossEntropyGradient::run(Executor& on) const {
  const detail::SparseCrossEntropyGradient f{probabilities.data<float>(), labels.data<std::int64_t>(),
                                             dloss.data<float>(), dx.data<float>(), dx.dim(1)};
  on.for_each(dx.elements(), f);
}

LOCKSTEP_SHARED_KERNEL(Softmax)
LOCKSTEP_SHARED_KERNEL(SoftmaxGradient)
LOCKSTEP_SHARED_KERNEL(LogSoftmax)
LOCKSTEP_SHARED_KERNEL(LogSoftmaxGradient)
LOCKSTEP_SHARED_KERNEL(SparseSoftmaxCrossEntropy)
LOCKSTEP_SHARED_KERNEL(SparseSoftmaxCrossEntropyGradient)

}  // namespace lockstep::kernels
