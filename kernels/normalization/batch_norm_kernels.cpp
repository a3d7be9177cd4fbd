#include <lockstep/kernels/executor/channels.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/normalization/batch_norm_math.h>
#include <lockstep/kernels/normalization/channel_sums.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>

// Batch normalization over rows of channels.

namespace lockstep::kernels {

namespace detail {

/// Parameters and statistics of the channels.
struct ChannelStatistics {
  const float* gamma;
  const float* beta;
  const float* mean;
  const float* variance;
  float epsilon;

  ChannelStatistics(const Tensor& gamma_of, const Tensor& beta_of, const Tensor& mean_of, const Tensor& variance_of,
                    float epsilon_of)
      : gamma(gamma_of.data<float>()),
        beta(beta_of.data<float>()),
        mean(mean_of.data<float>()),
        variance(variance_of.data<float>()),
        epsilon(epsilon_of) {}

  LOCKSTEP_HOST_DEVICE float inverse(Index k) const { return inverse_deviation(variance[k], epsilon); }
};

/// The terms that normalize `pack` channels: z = (x - mean) * scale + beta.
template <int pack>
struct NormalizingTerms {
  float mean[pack], scale[pack], beta[pack];

  LOCKSTEP_HOST_DEVICE NormalizingTerms(const ChannelStatistics& of, Index k) {
    for (int c = 0; c < pack; ++c) {
      mean[c] = of.mean[k + c];
      scale[c] = of.gamma[k + c] * of.inverse(k + c);
      beta[c] = of.beta[k + c];
    }
  }
};

/// Elements of neighboring channels of a row. Unconverted, they take fewer registers until they are used.
template <class T, int pack>
struct Pack {
  T of[pack];

  LOCKSTEP_HOST_DEVICE static Pack at(const Rows<T>& x, Index row, Index k) {
    Pack loaded;
    load_elements(x.at(row, k * pack), loaded.of);
    return loaded;
  }
  LOCKSTEP_HOST_DEVICE float operator[](int c) const { return static_cast<float>(of[c]); }
};

template <class T, bool relu, int pack>
struct Normalize {
  ChannelStatistics statistics;
  Rows<T> x, y;

  LOCKSTEP_HOST_DEVICE NormalizingTerms<pack> keep(Index k) const { return {statistics, k * pack}; }
  LOCKSTEP_HOST_DEVICE Pack<T, pack> load(Index row, Index k) const { return Pack<T, pack>::at(x, row, k); }
  LOCKSTEP_HOST_DEVICE void store(const NormalizingTerms<pack>& terms, const Pack<T, pack>& from, Index row,
                                  Index k) const {
    float values[pack];
    for (int c = 0; c < pack; ++c) values[c] = normalized<relu>(from[c] - terms.mean[c], terms.scale[c], terms.beta[c]);
    store_pack(values, y.at(row, k * pack));
  }
};

template <class T, bool relu, int pack>
struct NormalizeAndAdd {
  struct Loaded {
    Pack<T, pack> x, residual;
  };
  ChannelStatistics statistics;
  Rows<T> x, residual, y;

  LOCKSTEP_HOST_DEVICE NormalizingTerms<pack> keep(Index k) const { return {statistics, k * pack}; }
  LOCKSTEP_HOST_DEVICE Loaded load(Index row, Index k) const {
    return {Pack<T, pack>::at(x, row, k), Pack<T, pack>::at(residual, row, k)};
  }
  LOCKSTEP_HOST_DEVICE void store(const NormalizingTerms<pack>& terms, const Loaded& from, Index row, Index k) const {
    float values[pack];
    for (int c = 0; c < pack; ++c) {
      const float z = normalized<false>(from.x[c] - terms.mean[c], terms.scale[c], terms.beta[c]);
      values[c] = rectified<relu>(z + from.residual[c]);
    }
    store_pack(values, y.at(row, k * pack));
  }
};

/// Sums over rows of g and of g * (x - mean), where g is dy, or 0 where the ReLU was not active.
template <class T, bool relu, int pack_size>
struct GradientSums {
  static constexpr int pack = pack_size;
  ChannelStatistics statistics;
  Rows<T> x, dy;
  float* dgamma;
  float* dbeta;

  LOCKSTEP_HOST_DEVICE NormalizingTerms<pack> keep(Index k) const { return {statistics, k}; }
  LOCKSTEP_HOST_DEVICE void add(const NormalizingTerms<pack>& terms, Index row, Index k, float (&first)[pack],
                                float (&second)[pack]) const {
    float from[pack];
    float upper[pack];
    load_pack(x.at(row, k), from);
    load_pack(dy.at(row, k), upper);
    for (int c = 0; c < pack; ++c) {
      const float deviation = from[c] - terms.mean[c];
      const float g = active<relu>(deviation, terms.scale[c], terms.beta[c], upper[c]);
      first[c] += g;
      second[c] += g * deviation;
    }
  }
  LOCKSTEP_HOST_DEVICE void finish(Index k, const TwoSums& sums) const {
    dgamma[k] = static_cast<float>(sums.second * statistics.inverse(k));
    dbeta[k] = static_cast<float>(sums.first);
  }
};

/// GradientSums for a ReLU after the addition of a residual; also writes g to `dsum`.
template <class T, int pack>
struct GradientSumsOfResidual : GradientSums<T, false, pack> {
  using Base = GradientSums<T, false, pack>;
  Rows<T> y, dsum;

  LOCKSTEP_HOST_DEVICE void add(const NormalizingTerms<pack>& terms, Index row, Index k, float (&first)[pack],
                                float (&second)[pack]) const {
    float from[pack];
    float upper[pack];
    float result[pack];
    load_pack(Base::x.at(row, k), from);
    load_pack(Base::dy.at(row, k), upper);
    load_pack(y.at(row, k), result);
    for (int c = 0; c < pack; ++c) {
      upper[c] = active_by_result(result[c], upper[c]);
      first[c] += upper[c];
      second[c] += upper[c] * (from[c] - terms.mean[c]);
    }
    store_pack(upper, dsum.at(row, k));
  }
};

template <int pack>
struct GradientTerms {
  NormalizingTerms<pack> normalizing;
  float offset[pack], slope[pack];  ///< of MomentsGradient
};

template <class T, bool relu, int pack>
struct GradientX {
  struct Loaded {
    Pack<T, pack> x, dy;
  };
  ChannelStatistics statistics;
  Rows<T> x, dy, dx;
  const float* dgamma;  ///< not read where count is 0, nor dbeta
  const float* dbeta;
  Index count;

  LOCKSTEP_HOST_DEVICE GradientTerms<pack> keep(Index k) const {
    GradientTerms<pack> terms{{statistics, k * pack}, {}, {}};
    for (int c = 0; count > 0 && c < pack; ++c) {
      const Index channel = k * pack + c;
      const MomentsGradient gradient(terms.normalizing.scale[c], statistics.inverse(channel), dgamma[channel],
                                     dbeta[channel], count);
      terms.offset[c] = gradient.offset;
      terms.slope[c] = gradient.slope;
    }
    return terms;
  }
  LOCKSTEP_HOST_DEVICE Loaded load(Index row, Index k) const {
    return {Pack<T, pack>::at(x, row, k), Pack<T, pack>::at(dy, row, k)};
  }
  LOCKSTEP_HOST_DEVICE void store(const GradientTerms<pack>& terms, const Loaded& from, Index row, Index k) const {
    float values[pack];
    for (int c = 0; c < pack; ++c) {
      const float scale = terms.normalizing.scale[c];
      const float deviation = from.x[c] - terms.normalizing.mean[c];
      const float g = active<relu>(deviation, scale, terms.normalizing.beta[c], from.dy[c]);
      values[c] = MomentsGradient(terms.offset[c], terms.slope[c])(scale, g, deviation);
    }
    store_pack(values, dx.at(row, k * pack));
  }
};

/// Calls run.operator()<T, relu>() for the type of x's elements.
template <class Run>
void visit_activated(const Tensor& x, bool relu, const Run& run) {
  visit_real(x.dtype(),
             [&]<class T>() { relu ? run.template operator()<T, true>() : run.template operator()<T, false>(); });
}

}  // namespace detail

template <class Executor>
void BatchNorm::run(Executor& on) const {
  const Index channels = gamma.elements();
  detail::visit_activated(x, relu, [&]<class T, bool with_relu>() {
    const detail::ChannelStatistics statistics(gamma, beta, mean, variance, epsilon);
    const detail::Rows<T> from(x);
    const detail::Rows<T> added(residual.defined() ? residual : x);
    const detail::Rows<T> to(y);
    const Index rows = detail::row_count(x);
    if (residual.defined())
      visit_packs<T>(channels, {from, added, to}, [&]<int pack>() {
        on.rows(rows, channels / pack, detail::NormalizeAndAdd<T, with_relu, pack>{statistics, from, added, to});
      });
    else
      visit_packs<T>(channels, {from, to}, [&]<int pack>() {
        on.rows(rows, channels / pack, detail::Normalize<T, with_relu, pack>{statistics, from, to});
      });
  });
}

template <class Executor>
void BatchNormGradientSums::run(Executor& on) const {
  if (dsum.defined()) return run_with_residual(on);
  const Index channels = gamma.elements();
  detail::visit_activated(x, relu, [&]<class T, bool with_relu>() {
    const detail::Rows<T> from(x);
    const detail::Rows<T> upper(dy);
    visit_packs<T>(channels, {from, upper}, [&]<int pack>() {
      const detail::GradientSums<T, with_relu, pack> f{
          {gamma, beta, mean, variance, epsilon}, from, upper, dgamma.data<float>(), dbeta.data<float>()};
      sum_channels(on, detail::row_count(x), channels, f);
    });
  });
}

template <class Executor>
void BatchNormGradientSums::run_with_residual(Executor& on) const {
  const Index channels = gamma.elements();
  visit_real(x.dtype(), [&]<class T>() {
    const detail::Rows<T> from(x);
    const detail::Rows<T> upper(dy);
    const detail::Rows<T> result(y);
    const detail::Rows<T> to(dsum);
    visit_packs<T>(channels, {from, upper, result, to}, [&]<int pack>() {
      const detail::GradientSumsOfResidual<T, pack> f{
          {{gamma, beta, mean, variance, epsilon}, from, upper, dgamma.data<float>(), dbeta.data<float>()}, result, to};
      sum_channels(on, detail::row_count(x), channels, f);
    });
  });
}

template <class Executor>
void BatchNormGradientX::run(Executor& on) const {
  const Index channels = gamma.elements();
  detail::visit_activated(x, relu, [&]<class T, bool with_relu>() {
    const detail::Rows<T> from(x);
    const detail::Rows<T> upper(dy);
    const detail::Rows<T> to(dx);
    visit_packs<T>(channels, {from, upper, to}, [&]<int pack>() {
      const float* const of_gamma = count > 0 ? dgamma.data<float>() : nullptr;
      const float* const of_beta = count > 0 ? dbeta.data<float>() : nullptr;
      const detail::GradientX<T, with_relu, pack> f{
          {gamma, beta, mean, variance, epsilon}, from, upper, to, of_gamma, of_beta, count};
      on.rows(detail::row_count(x), channels / pack, f);
    });
  });
}

LOCKSTEP_SHARED_KERNEL(BatchNorm)
LOCKSTEP_SHARED_KERNEL(BatchNormGradientSums)
LOCKSTEP_SHARED_KERNEL(BatchNormGradientX)

}  // namespace lockstep::kernels
