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

/// The values of the row x, n > 0. Calls keep(i, exponential) in the thread to which `team` assigns i.
template <class Team, class T, class Keep>
LOCKSTEP_HOST_DEVICE RowSoftmax values_of_row(Team& team, const T* x, Index n, const Keep& keep) {
  const auto at = [=](Index i) { return static_cast<float>(x[i]); };
  RowSoftmax row{};
  row.largest = team.reduce(n, at(0), at, [](float a, float b) { return a < b ? b : a; });
  const auto exponential = [&](Index i) {
    const float e = row.exponential(at(i));
    keep(i, e);
    return static_cast<double>(e);
  };
  row.sum = team.reduce(n, 0.0, exponential, [](double a, double b) { return a + b; });
  return row;
}

/// y = softmax of the row x, n > 0. y[i] is written by the thread to which `team` assigns i.
template <class Team, class T>
LOCKSTEP_HOST_DEVICE RowSoftmax softmax_row(Team& team, const T* x, float* y, Index n) {
  const RowSoftmax row = values_of_row(team, x, n, [=](Index i, float e) { y[i] = e; });
  const float scale = row.scale();
  team.each(n, [=](Index i) { y[i] *= scale; });
  return row;
}

/// softmax_row in bf16. Computes the exponentials twice, because bf16 would round stored ones.
template <class Team>
LOCKSTEP_HOST_DEVICE void softmax_row(Team& team, const bfloat16* x, bfloat16* y, Index n) {
  const RowSoftmax row = values_of_row(team, x, n, [](Index, float) {});
  const float scale = row.scale();
  team.each(n, [=](Index i) { y[i] = bfloat16(row.exponential(static_cast<float>(x[i])) * scale); });
}

template <class Team, class Load>
LOCKSTEP_HOST_DEVICE float row_sum(Team& team, Index n, const Load& load) {
  return static_cast<float>(team.reduce(n, 0.0, load, [](double a, double b) { return a + b; }));
}

///@{
/// The factor by which rounded probabilities of a row add up to 1 again.
template <class Team>
LOCKSTEP_HOST_DEVICE float scale_to_1(Team&, const float*, Index) {
  return 1;
}
template <class Team>
LOCKSTEP_HOST_DEVICE float scale_to_1(Team& team, const bfloat16* y, Index n) {
  return 1.0F / row_sum(team, n, [=](Index i) { return static_cast<double>(static_cast<float>(y[i])); });
}
///@}

template <class T>
struct Softmax {
  const T* x;
  T* y;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    softmax_row(team, x + row * n, y + row * n, n);
  }
};

template <class T>
struct SoftmaxGradient {
  const T* y;
  const T* dy;
  T* dx;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const float scale = scale_to_1(team, y + row * n, n);
    const auto out = [=, from = y + row * n](Index i) { return static_cast<float>(from[i]) * scale; };
    const auto upper = [from = dy + row * n](Index i) { return static_cast<float>(from[i]); };
    T* const to = dx + row * n;
    const float dot =
        row_sum(team, n, [=](Index i) { return static_cast<double>(upper(i)) * static_cast<double>(out(i)); });
    team.each(n, [=](Index i) { to[i] = static_cast<T>(softmax_gradient_of(out(i), upper(i), dot)); });
  }
};

template <class T>
struct LogSoftmax {
  const T* x;
  T* y;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const T* const from = x + row * n;
    T* const to = y + row * n;
    const RowSoftmax softmax = values_of_row(team, from, n, [](Index, float) {});
    const float log_sum = softmax.log_sum();
    team.each(n,
              [=](Index i) { to[i] = static_cast<T>(softmax.log_probability(static_cast<float>(from[i]), log_sum)); });
  }
};

template <class T>
struct LogSoftmaxGradient {
  const T* y;
  const T* dy;
  T* dx;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const auto out = [from = y + row * n](Index i) { return static_cast<float>(from[i]); };
    const auto upper = [from = dy + row * n](Index i) { return static_cast<float>(from[i]); };
    T* const to = dx + row * n;
    const float sum = row_sum(team, n, [=](Index i) { return static_cast<double>(upper(i)); });
    team.each(n, [=](Index i) { to[i] = static_cast<T>(log_softmax_gradient_of(out(i), upper(i), sum)); });
  }
};

/// Reports a row whose label is out of range and computes no loss for it.
template <class T, class Faults>
struct SparseCrossEntropy {
  const T* x;
  const std::int64_t* labels;
  T* loss;
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
    const T* const from = x + row * n;
    const RowSoftmax softmax = softmax_row(team, from, probabilities + row * n, n);
    team.once([&] { loss[row] = static_cast<T>(softmax.loss(static_cast<float>(from[label]))); });
  }
};

template <class T>
struct SparseCrossEntropyGradient {
  const float* probabilities;
  const std::int64_t* labels;
  const T* dloss;
  T* dx;
  Index n;

  LOCKSTEP_HOST_DEVICE void operator()(Index element) const {
    const Index row = element / n;
    const Index i = element - row * n;
    const auto upper = static_cast<float>(dloss[row]);
    dx[element] = static_cast<T>(cross_entropy_gradient(probabilities[element], i == labels[row], upper));
  }
};

}  // namespace detail

template <class Executor>
void Softmax::run(Executor& on) const {
  const Index n = logits.dim(1);
  if (n == 0) return;
  visit_real(y.dtype(), [&]<class T>() {
    on.teams(logits.dim(0), n, detail::Softmax<T>{logits.data<T>(), y.data<T>(), n});
  });
}

template <class Executor>
void SoftmaxGradient::run(Executor& on) const {
  const Index n = y.dim(1);
  visit_real(y.dtype(), [&]<class T>() {
    on.teams(y.dim(0), n, detail::SoftmaxGradient<T>{y.data<T>(), dy.data<T>(), dx.data<T>(), n});
  });
}

template <class Executor>
void LogSoftmax::run(Executor& on) const {
  const Index n = logits.dim(1);
  if (n == 0) return;
  visit_real(y.dtype(), [&]<class T>() {
    on.teams(logits.dim(0), n, detail::LogSoftmax<T>{logits.data<T>(), y.data<T>(), n});
  });
}

template <class Executor>
void LogSoftmaxGradient::run(Executor& on) const {
  const Index n = y.dim(1);
  visit_real(y.dtype(), [&]<class T>() {
    on.teams(y.dim(0), n, detail::LogSoftmaxGradient<T>{y.data<T>(), dy.data<T>(), dx.data<T>(), n});
  });
}

template <class Executor>
std::int64_t SparseSoftmaxCrossEntropy::run(Executor& on) const {
  const Index n = logits.dim(1);
  auto faults = on.faults("labels of sparse_softmax_cross_entropy");
  visit_real(loss.dtype(), [&]<class T>() {
    const detail::SparseCrossEntropy<T, decltype(faults)> f{
        logits.data<T>(), labels.data<std::int64_t>(), loss.data<T>(), probabilities.data<float>(), n, faults};
    on.teams(logits.dim(0), n, f);
  });
  return on.first_fault(faults);
}

template <class Executor>
void SparseSoftmaxCrossEntropyGradient::run(Executor& on) const {
  visit_real(dx.dtype(), [&]<class T>() {
    const detail::SparseCrossEntropyGradient<T> f{probabilities.data<float>(), labels.data<std::int64_t>(),
                                                  dloss.data<T>(), dx.data<T>(), dx.dim(1)};
    on.for_each(dx.elements(), f);
  });
}

LOCKSTEP_SHARED_KERNEL(Softmax)
LOCKSTEP_SHARED_KERNEL(SoftmaxGradient)
LOCKSTEP_SHARED_KERNEL(LogSoftmax)
LOCKSTEP_SHARED_KERNEL(LogSoftmaxGradient)
LOCKSTEP_SHARED_KERNEL(SparseSoftmaxCrossEntropy)
LOCKSTEP_SHARED_KERNEL(SparseSoftmaxCrossEntropyGradient)

}  // namespace lockstep::kernels
