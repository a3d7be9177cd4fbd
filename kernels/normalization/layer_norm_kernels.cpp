#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/normalization/layer_norm_math.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>

// Layer normalization of rows, a team for each; sums in f64.

namespace lockstep::kernels {

namespace detail {

template <class T>
struct LayerNorm {
  const T* x;
  const float* gamma;
  const float* beta;
  float epsilon;
  T* y;
  float* mean;
  float* inverse;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const T* const from = x + row * n;
    T* const to = y + row * n;
    const auto add = [](double a, double b) { return a + b; };
    const double sum = team.reduce(
        n, 0.0, [=](Index i) { return static_cast<double>(static_cast<float>(from[i])); }, add);
    const auto center = static_cast<float>(sum / static_cast<double>(n));
    const auto square = [=](Index i) {
      const float distance = static_cast<float>(from[i]) - center;
      return static_cast<double>(distance * distance);
    };
    const auto squares = static_cast<float>(team.reduce(n, 0.0, square, add));
    const RowMoments moments = RowMoments::of(center, squares, static_cast<float>(n), epsilon);
    team.once([&] {
      mean[row] = moments.mean;
      inverse[row] = moments.inverse;
    });
    team.each(n, [&](Index i) { to[i] = static_cast<T>(moments(static_cast<float>(from[i])) * gamma[i] + beta[i]); });
  }
};

template <class T>
struct LayerNormGradientX {
  const T* x;
  const float* gamma;
  const float* mean;
  const float* inverse;
  const T* dy;
  T* dx;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const T* const from = x + row * n;
    const T* const upper = dy + row * n;
    T* const to = dx + row * n;
    const RowMoments moments{mean[row], inverse[row]};
    const auto scaled = [&](Index i) { return static_cast<float>(upper[i]) * gamma[i]; };
    const auto normalized = [&](Index i) { return moments(static_cast<float>(from[i])); };
    const auto terms = [&](Index i) {
      const float g = scaled(i);
      return TwoSums{static_cast<double>(g), static_cast<double>(g * normalized(i))};
    };
    const TwoSums sums = team.reduce(n, TwoSums{}, terms, [](const TwoSums& a, const TwoSums& b) { return a + b; });
    const auto mean_g = static_cast<float>(sums.first / static_cast<double>(n));
    const auto mean_gz = static_cast<float>(sums.second / static_cast<double>(n));
    team.each(n, [&](Index i) { to[i] = static_cast<T>(moments.gradient(scaled(i), normalized(i), mean_g, mean_gz)); });
  }
};

template <class T>
struct LayerNormGradientSums : SumOf<TwoSums> {
  const T* x;
  const float* mean;
  const float* inverse;
  const T* dy;
  float* dgamma;
  float* dbeta;
  Index n;

  LOCKSTEP_HOST_DEVICE TwoSums load(Index, Index row, Index k) const {
    const auto upper = static_cast<float>(dy[row * n + k]);
    const RowMoments moments{mean[row], inverse[row]};
    return {static_cast<double>(upper * moments(static_cast<float>(x[row * n + k]))), static_cast<double>(upper)};
  }
  LOCKSTEP_HOST_DEVICE void finish(Index, Index k, const TwoSums& sums) const {
    dgamma[k] = static_cast<float>(sums.first);
    dbeta[k] = static_cast<float>(sums.second);
  }
};

}  // namespace detail

template <class Executor>
void LayerNorm::run(Executor& on) const {
  const Index n = x.dim(1);
  visit_real(x.dtype(), [&]<class T>() {
    const detail::LayerNorm<T> f{x.data<T>(), gamma.data<float>(), beta.data<float>(),    epsilon,
                                 y.data<T>(), mean.data<float>(),  inverse.data<float>(), n};
    on.teams(x.dim(0), n, f);
  });
}

template <class Executor>
void LayerNormGradient::run(Executor& on) const {
  const Index rows = x.dim(0);
  const Index n = x.dim(1);
  const float* const means = mean.data<float>();
  const float* const inverses = inverse.data<float>();
  visit_real(x.dtype(), [&]<class T>() {
    const T* const from = x.data<T>();
    const T* const upper = dy.data<T>();
    const detail::LayerNormGradientSums<T> sums{
        {}, from, means, inverses, upper, dgamma.data<float>(), dbeta.data<float>(), n};
    reduce_middle(on, 1, rows, n, sums);
    if (!dx.defined()) return;
    const detail::LayerNormGradientX<T> f{from, gamma.data<float>(), means, inverses, upper, dx.data<T>(), n};
    on.teams(rows, n, f);
  });
}

LOCKSTEP_SHARED_KERNEL(LayerNorm)
LOCKSTEP_SHARED_KERNEL(LayerNormGradient)

}  // namespace lockstep::kernels
