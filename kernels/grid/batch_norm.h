#pragma once

#include <lockstep/kernels/common/batch_norm.h>
#include <lockstep/kernels/grid/channels.h>
#include <lockstep/kernels/grid/middle_axis.h>
#include <lockstep/kernels/grid/packs.h>

// Batch normalization over rows of channels.

namespace lockstep::grid {

namespace detail {

/// What passes over all elements need of each channel, made by a pass over the channels.
struct ChannelTerms {
  const float* mean;
  const float* beta;
  float* scale;
  float* offset;  ///< of MomentsGradient, as slope
  float* slope;
};

struct MakeChannelTerms {
  ChannelTerms terms;
  const float* gamma;
  const float* variance;
  float epsilon;
  const float* dgamma;  ///< not read where count is 0, nor dbeta
  const float* dbeta;
  Index count;

  LOCKSTEP_HOST_DEVICE void operator()(Index k) const {
    const double inverse = inverse_deviation(variance[k], epsilon);
    terms.scale[k] = channel_scale(gamma[k], inverse);
    const float dgamma_of = count > 0 ? dgamma[k] : 0;
    const float dbeta_of = count > 0 ? dbeta[k] : 0;
    const MomentsGradient gradient(terms.scale[k], inverse, dgamma_of, dbeta_of, count);
    terms.offset[k] = gradient.offset;
    terms.slope[k] = gradient.slope;
  }
};

/// `pack` neighboring channels of a row.
template <class T, bool relu, int pack>
struct Normalize {
  ChannelTerms terms;
  Rows<T> x, y;
  Index channels;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = i * pack / channels;
    const Index k = i * pack - row * channels;
    float values[pack];
    load_pack(x.at(row, k), values);
    for (int c = 0; c < pack; ++c)
      values[c] = normalized<relu>(values[c] - terms.mean[k + c], terms.scale[k + c], terms.beta[k + c]);
    store_pack(values, y.at(row, k));
  }
};

/// Sums over rows of g and of g * (x - mean), where g is dy, or 0 where the ReLU was not active.
template <class T, bool relu>
struct GradientSums : SumOf<TwoSums> {
  ChannelTerms terms;
  Rows<T> x, dy;
  const float* variance;
  float epsilon;
  float* dgamma;
  float* dbeta;

  LOCKSTEP_HOST_DEVICE TwoSums load(Index, Index row, Index k) const {
    const float deviation = static_cast<float>(*x.at(row, k)) - terms.mean[k];
    const float g = active<relu>(deviation, terms.scale[k], terms.beta[k], static_cast<float>(*dy.at(row, k)));
    return {static_cast<double>(g), static_cast<double>(g * deviation)};
  }
  LOCKSTEP_HOST_DEVICE void finish(Index, Index k, const TwoSums& sums) const {
    dgamma[k] = static_cast<float>(sums.second * inverse_deviation(variance[k], epsilon));
    dbeta[k] = static_cast<float>(sums.first);
  }
};

template <class T, bool relu, int pack>
struct GradientX {
  ChannelTerms terms;
  Rows<T> x, dy, dx;
  Index channels;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = i * pack / channels;
    const Index k = i * pack - row * channels;
    float from[pack];
    float upper[pack];
    load_pack(x.at(row, k), from);
    load_pack(dy.at(row, k), upper);
    for (int c = 0; c < pack; ++c) {
      const float scale = terms.scale[k + c];
      const float deviation = from[c] - terms.mean[k + c];
      const float g = active<relu>(deviation, scale, terms.beta[k + c], upper[c]);
      from[c] = MomentsGradient(terms.offset[k + c], terms.slope[k + c])(scale, g, deviation);
    }
    store_pack(from, dx.at(row, k));
  }
};

/// Fills `scratch`, (3, channels), and points into it.
template <class Executor>
ChannelTerms channel_terms(Executor& on, const Tensor& scratch, const Tensor& gamma, const Tensor& beta,
                           const Tensor& mean, const Tensor& variance, float epsilon, const Tensor* dgamma = nullptr,
                           const Tensor* dbeta = nullptr, Index count = 0) {
  const Index channels = gamma.elements();
  float* const first = scratch.data<float>();
  const ChannelTerms terms{mean.data<float>(), beta.data<float>(), first, first + channels, first + 2 * channels};
  const float* const gamma_sums = count > 0 ? dgamma->data<float>() : nullptr;
  const float* const beta_sums = count > 0 ? dbeta->data<float>() : nullptr;
  on.for_each(channels, MakeChannelTerms{terms, gamma.data<float>(), variance.data<float>(), epsilon, gamma_sums,
                                         beta_sums, count});
  return terms;
}

/// Calls run.operator()<relu, pack>() for rows of T.
template <class T, class Run>
void visit_pass(bool relu, bool packed, const Run& run) {
  constexpr int pack = pack_of<T>;
  if (relu)
    packed ? run.template operator()<true, pack>() : run.template operator()<true, 1>();
  else
    packed ? run.template operator()<false, pack>() : run.template operator()<false, 1>();
}

template <class T, class Executor>
void normalize(Executor& on, const ChannelTerms& terms, Index channels, bool relu, const Tensor& x, const Tensor& y) {
  const Rows<T> from(x);
  const Rows<T> to(y);
  visit_pass<T>(relu, channels_in_packs<T>(channels, {from, to}), [&]<bool with_relu, int pack>() {
    on.for_each(x.elements() / pack, Normalize<T, with_relu, pack>{terms, from, to, channels});
  });
}

template <class T, class Executor>
void gradient_x(Executor& on, const ChannelTerms& terms, Index channels, bool relu, const Tensor& x, const Tensor& dy,
                const Tensor& dx) {
  const Rows<T> from(x);
  const Rows<T> upper(dy);
  const Rows<T> to(dx);
  visit_pass<T>(relu, channels_in_packs<T>(channels, {from, upper, to}), [&]<bool with_relu, int pack>() {
    on.for_each(x.elements() / pack, GradientX<T, with_relu, pack>{terms, from, upper, to, channels});
  });
}

}  // namespace detail

template <class Executor>
void batch_norm(Executor& on, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                const Tensor& variance, float epsilon, bool relu, const Tensor& y) {
  const Index channels = gamma.elements();
  const Tensor scratch = Tensor::empty({3, channels});
  const auto terms = detail::channel_terms(on, scratch, gamma, beta, mean, variance, epsilon);
  visit_real(x.dtype(), [&]<class T>() { detail::normalize<T>(on, terms, channels, relu, x, y); });
}

template <class Executor>
void batch_norm_gradient_sums(Executor& on, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                              const Tensor& mean, const Tensor& variance, float epsilon, bool relu, const Tensor& dy,
                              const Tensor& dgamma, const Tensor& dbeta) {
  const Index channels = gamma.elements();
  const Tensor scratch = Tensor::empty({3, channels});
  const auto terms = detail::channel_terms(on, scratch, gamma, beta, mean, variance, epsilon);
  const auto sums = [&]<class T, bool with_relu>() {
    const detail::GradientSums<T, with_relu> f{{},
                                               terms,
                                               detail::Rows<T>(x),
                                               detail::Rows<T>(dy),
                                               variance.data<float>(),
                                               epsilon,
                                               dgamma.data<float>(),
                                               dbeta.data<float>()};
    reduce_middle(on, 1, detail::row_count(x), channels, f);
  };
  visit_real(x.dtype(),
             [&]<class T>() { relu ? sums.template operator()<T, true>() : sums.template operator()<T, false>(); });
}

template <class Executor>
void batch_norm_gradient_x(Executor& on, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                           const Tensor& variance, float epsilon, bool relu, const Tensor& dy, const Tensor& dgamma,
                           const Tensor& dbeta, std::int64_t count, const Tensor& dx) {
  const Index channels = gamma.elements();
  const Tensor scratch = Tensor::empty({3, channels});
  const auto terms = detail::channel_terms(on, scratch, gamma, beta, mean, variance, epsilon, &dgamma, &dbeta, count);
  visit_real(x.dtype(), [&]<class T>() { detail::gradient_x<T>(on, terms, channels, relu, x, dy, dx); });
}

}  // namespace lockstep::grid
