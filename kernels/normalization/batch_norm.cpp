#include "lockstep/kernels/normalization/batch_norm.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>

namespace lockstep {
namespace {

void check_vector(const char* op, const char* what, const Tensor& value, const Tensor& x) {
  require(value.defined() && value.dtype() == DType::f32 && value.shape() == Shape{x.dim(-1)} && value.is_dense(),
          "{}: {} for x {} must be dense f32 ({}), got {}", op, what, x.shape(), x.dim(-1), value);
}

void check_operands(const char* op, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& out) {
  require(x.defined() && x.rank() >= 1 && is_real(x.dtype()), "{}: x must be f32 or bf16 (..., channels), got {}", op,
          x);
  check_vector(op, "gamma", gamma, x);
  check_vector(op, "beta", beta, x);
  require(!out.defined() || (out.shape() == x.shape() && out.dtype() == x.dtype() && is_rows(out)),
          "{}: the output must be {} {}, dense or a channel slice, got {}", op, name(x.dtype()), x.shape(), out);
}

/// What the gradient needs.
struct Saved {
  Tensor x, gamma, beta, mean, variance;
  float epsilon;
  bool relu;
  std::int64_t count;  ///< rows that the statistics are of; 0 when they were given
  GatherRows gather;

  void normalize(const Tensor& y) const {
    launch(kernels::BatchNorm{x, gamma, beta, mean, variance, epsilon, relu, y});
  }

  void contribute_gradients(BackwardContext& c) const {
    const Tensor dy = make_rows(c.gradient(0));
    const std::int64_t channels = gamma.elements();
    const Tensor sums = Tensor::empty({2 * channels});
    const Tensor dgamma = sums.slice_view(0, 0, channels);
    const Tensor dbeta = sums.slice_view(0, channels, 2 * channels);
    if (count > 0 || c.needs(1) || c.needs(2))
      launch(kernels::BatchNormGradientSums{x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta});
    if (c.needs(0)) {
      contribute_gradient_of_x(c, dy, count > 0 && gather ? sums_of_all(sums) : sums);
      if (count > 0 && !gather) c.set_rows_sum_to_zero(0);  // adding to a channel changes its mean, and no result
    }
    contribute(c, 1, gamma.shape(), [&](const Tensor& out) { copy(dgamma, out); });
    contribute(c, 2, beta.shape(), [&](const Tensor& out) { copy(dbeta, out); });
  }

 private:
  void contribute_gradient_of_x(BackwardContext& c, const Tensor& dy, const Tensor& sums) const {
    const std::int64_t channels = gamma.elements();
    const auto compute = [&](const Tensor& dx) {
      launch(kernels::BatchNormGradientX{x, gamma, beta, mean, variance, epsilon, relu, dy,
                                         sums.slice_view(0, 0, channels), sums.slice_view(0, channels, 2 * channels),
                                         count, dx});
    };
    if (!x_is_free(c)) return contribute(c, 0, x.shape(), compute, x.dtype());
    compute(x);
    c.set(0, x, true);
  }

  /// Over all parts of the batch.
  Tensor sums_of_all(const Tensor& own) const {
    const std::int64_t n = own.elements();
    const Tensor parts = gather(own.view({1, n}));
    const Tensor total = Tensor::empty({n});
    launch(kernels::SumMiddle{parts.view({1, parts.dim(0), n}), total.view({1, n})});
    return total;
  }

  /// Whether x's gradient may be written over x: nobody else will read it, and it is the first contribution. That saves
  /// a pass through memory that is not in the cache.
  bool x_is_free(const BackwardContext& c) const {
    return x.unique() && x.is_dense() && !c.contributed(0).defined() && !c.destination(0).defined();
  }
};

/// The mean, the variance and the number of rows of all parts of a batch.
void moments_of_all(Saved& saved) {
  const std::int64_t channels = saved.gamma.elements();
  const Tensor own = Tensor::empty({2 * channels + 1});
  launch(kernels::ChannelMoments{saved.x, own.slice_view(0, 0, channels), own.slice_view(0, channels, 2 * channels)});
  launch(kernels::Fill{own.slice_view(0, 2 * channels, 2 * channels + 1), static_cast<float>(saved.count)});
  const Tensor parts = saved.gather(own.view({1, own.elements()}));
  launch(kernels::MergeMoments{parts, saved.mean, saved.variance});
  saved.count = 0;
  for (const double rows : parts.slice_view(1, 2 * channels, 2 * channels + 1).to_vector<double>())
    saved.count += static_cast<std::int64_t>(rows);
}

Tensor normalize(const char* op, const Saved& saved, const Tensor& out) {
  const Tensor y = out.defined() ? out : Tensor::empty(saved.x.shape(), saved.x.dtype());
  saved.normalize(y);
  if (recording({saved.x, saved.gamma, saved.beta})) {
    record(op, {saved.x, saved.gamma, saved.beta}, y, [saved](BackwardContext& c) { saved.contribute_gradients(c); });
    // Statistics that were given may be variables, which move until then.
    if (saved.count > 0) record_recompute(y, [saved](const Tensor& again) { saved.normalize(again); });
  }
  return y;
}

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const BatchNormOptions& options) try {
  check_operands("batch_norm", x, gamma, beta, options.out);
  Saved saved{.x = is_rows(x) ? to_current_device(x) : dense_copy(x),
              .gamma = to_current_device(gamma),
              .beta = to_current_device(beta),
              .mean = Tensor::empty(gamma.shape()),
              .variance = Tensor::empty(gamma.shape()),
              .epsilon = options.epsilon,
              .relu = options.relu,
              .count = x.dim(-1) == 0 ? 0 : x.elements() / x.dim(-1),
              .gather = options.gather};
  if (saved.gather)
    moments_of_all(saved);
  else
    launch(kernels::ChannelMoments{saved.x, saved.mean, saved.variance});
  return {normalize("batch_norm", saved, options.out), saved.mean, saved.variance, saved.count};
} catch (Error& error) {
  rethrow_from("batch_norm", error);
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                            const Tensor& variance, const BatchNormOptions& options) try {
  check_operands("batch_norm_inference", x, gamma, beta, options.out);
  check_vector("batch_norm_inference", "the mean", mean, x);
  check_vector("batch_norm_inference", "the variance", variance, x);
  const Saved saved{.x = is_rows(x) ? to_current_device(x) : dense_copy(x),
                    .gamma = to_current_device(gamma),
                    .beta = to_current_device(beta),
                    .mean = to_current_device(mean),
                    .variance = to_current_device(variance),
                    .epsilon = options.epsilon,
                    .relu = options.relu,
                    .count = 0,
                    .gather = {}};
  return normalize("batch_norm_inference", saved, options.out);
} catch (Error& error) {
  rethrow_from("batch_norm_inference", error);
}

void update_moving_average(const Tensor& average, const Tensor& value, float momentum) try {
  require(average.defined() && value.defined() && average.shape() == value.shape() && average.dtype() == DType::f32 &&
              value.dtype() == DType::f32,
          "update_moving_average: average and value must be f32 of one shape, got {} and {}", average, value);
  const ContextScope there(context_on(average.device()));
  launch(kernels::MovingAverage{average, reachable_from(average.device(), value), momentum});
} catch (Error& error) {
  rethrow_from("update_moving_average", error);
}

}  // namespace lockstep
