#include "lockstep/kernels/normalization/group_norm_kernels.h"

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/normalization/layer_norm_math.h>

// Group normalization, a team for each group of an example; sums in f64.

namespace lockstep::kernels {

namespace detail {

/// Where the elements of a group are in x (n, places, channels).
struct GroupLayout {
  Index places, channels;
  Divisor groups, width;  ///< width: channels of a group

  GroupLayout(const Tensor& x, const Tensor& mean)
      : places(x.dim(1)), channels(x.dim(2)), groups(mean.dim(1)), width(x.dim(2) / mean.dim(1)) {}

  LOCKSTEP_HOST_DEVICE Index elements() const { return places * width.value(); }
  LOCKSTEP_HOST_DEVICE Index first_channel(Index group) const {
    return (group - group / groups * groups.value()) * width.value();
  }
  /// The offset of element i of group `group`, counted over all examples.
  LOCKSTEP_HOST_DEVICE Index offset(Index group, Index i) const {
    return (group / groups * places + i / width) * channels + first_channel(group) + channel(i);
  }
  /// The channel within the group.
  LOCKSTEP_HOST_DEVICE Index channel(Index i) const { return i - i / width * width.value(); }
};

template <class T>
struct GroupNorm {
  const T* x;
  const float* gamma;
  const float* beta;
  float epsilon;
  T* y;
  float* mean;
  float* inverse;
  GroupLayout at;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index group) const {
    const Index n = at.elements();
    const auto add = [](double a, double b) { return a + b; };
    const double sum = team.reduce(
        n, 0.0, [&](Index i) { return static_cast<double>(static_cast<float>(x[at.offset(group, i)])); }, add);
    const auto center = static_cast<float>(sum / static_cast<double>(n));
    const auto square = [&](Index i) {
      const float distance = static_cast<float>(x[at.offset(group, i)]) - center;
      return static_cast<double>(distance * distance);
    };
    const auto squares = static_cast<float>(team.reduce(n, 0.0, square, add));
    const RowMoments moments = RowMoments::of(center, squares, static_cast<float>(n), epsilon);
    team.once([&] {
      mean[group] = moments.mean;
      inverse[group] = moments.inverse;
    });
    const Index first = at.first_channel(group);
    team.each(n, [&](Index i) {
      const Index offset = at.offset(group, i);
      const Index k = first + at.channel(i);
      y[offset] = static_cast<T>(moments(static_cast<float>(x[offset])) * gamma[k] + beta[k]);
    });
  }
};

template <class T>
struct GroupNormGradientX {
  const T* x;
  const float* gamma;
  const float* mean;
  const float* inverse;
  const T* dy;
  T* dx;
  GroupLayout at;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index group) const {
    const Index n = at.elements();
    const Index first = at.first_channel(group);
    const RowMoments moments{mean[group], inverse[group]};
    const auto scaled = [&](Index i, Index offset) {
      return static_cast<float>(dy[offset]) * gamma[first + at.channel(i)];
    };
    const auto normalized = [&](Index offset) { return moments(static_cast<float>(x[offset])); };
    const auto terms = [&](Index i) {
      const Index offset = at.offset(group, i);
      const float g = scaled(i, offset);
      return TwoSums{static_cast<double>(g), static_cast<double>(g * normalized(offset))};
    };
    const TwoSums sums = team.reduce(n, TwoSums{}, terms, [](const TwoSums& a, const TwoSums& b) { return a + b; });
    const auto mean_g = static_cast<float>(sums.first / static_cast<double>(n));
    const auto mean_gz = static_cast<float>(sums.second / static_cast<double>(n));
    team.each(n, [&](Index i) {
      const Index offset = at.offset(group, i);
      dx[offset] = static_cast<T>(moments.gradient(scaled(i, offset), normalized(offset), mean_g, mean_gz));
    });
  }
};

template <class T>
struct GroupNormGradientSums : SumOf<TwoSums> {
  const T* x;
  const float* mean;
  const float* inverse;
  const T* dy;
  float* dgamma;
  float* dbeta;
  GroupLayout at;
  Divisor places;

  LOCKSTEP_HOST_DEVICE TwoSums load(Index, Index row, Index k) const {
    const Index group = row / places * at.groups.value() + k / at.width;
    const auto upper = static_cast<float>(dy[row * at.channels + k]);
    const RowMoments moments{mean[group], inverse[group]};
    const float z = moments(static_cast<float>(x[row * at.channels + k]));
    return {static_cast<double>(upper * z), static_cast<double>(upper)};
  }
  LOCKSTEP_HOST_DEVICE void finish(Index, Index k, const TwoSums& sums) const {
    dgamma[k] = static_cast<float>(sums.first);
    dbeta[k] = static_cast<float>(sums.second);
  }
};

}  // namespace detail

template <class Executor>
void GroupNorm::run(Executor& on) const {
  const detail::GroupLayout at(x, mean);
  visit_real(x.dtype(), [&]<class T>() {
    const detail::GroupNorm<T> f{x.data<T>(), gamma.data<float>(), beta.data<float>(),    epsilon,
                                 y.data<T>(), mean.data<float>(),  inverse.data<float>(), at};
    on.teams(mean.elements(), at.elements(), f);
  });
}

template <class Executor>
void GroupNormGradient::run(Executor& on) const {
  const detail::GroupLayout at(x, mean);
  const float* const means = mean.data<float>();
  const float* const inverses = inverse.data<float>();
  visit_real(x.dtype(), [&]<class T>() {
    const T* const from = x.data<T>();
    const T* const upper = dy.data<T>();
    const detail::GroupNormGradientSums<T> sums{
        {}, from, means, inverses, upper, dgamma.data<float>(), dbeta.data<float>(), at, Divisor(at.places)};
    reduce_middle(on, 1, x.dim(0) * at.places, at.channels, sums);
    if (!dx.defined()) return;
    const detail::GroupNormGradientX<T> f{from, gamma.data<float>(), means, inverses, upper, dx.data<T>(), at};
    on.teams(mean.elements(), at.elements(), f);
  });
}

LOCKSTEP_SHARED_KERNEL(GroupNorm)
LOCKSTEP_SHARED_KERNEL(GroupNormGradient)

}  // namespace lockstep::kernels
