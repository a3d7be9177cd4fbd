#include "lockstep/kernels/normalization/batch_norm.h"

#include <set>
#include <span>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/unary.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>

namespace lockstep {
namespace {

void check_vector(const char* op, const char* what, const Tensor& value, const Tensor& x) {
  require(value.defined() && value.dtype() == DType::f32 && value.shape() == Shape{x.dim(-1)} && value.is_dense(),
          "{}: {} for x {} must be dense f32 ({}), got {}", op, what, x.shape(), x.dim(-1), value);
}

void check_operands(const char* op, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                    const BatchNormOptions& options) {
  const Tensor& residual = options.residual;
  const Tensor& out = options.out;
  require(x.defined() && x.rank() >= 1 && is_real(x.dtype()), "{}: x must be f32 or bf16 (..., channels), got {}", op,
          x);
  check_vector(op, "gamma", gamma, x);
  check_vector(op, "beta", beta, x);
  require(!residual.defined() || (residual.shape() == x.shape() && residual.dtype() == x.dtype()),
          "{}: the residual must be {} {}, got {}", op, name(x.dtype()), x.shape(), residual);
  require(!out.defined() || (out.shape() == x.shape() && out.dtype() == x.dtype() && is_rows(out)),
          "{}: the output must be {} {}, dense or a channel slice, got {}", op, name(x.dtype()), x.shape(), out);
}

/// x if its layout is "rows", else a dense copy, on the current device; undefined for an undefined x.
Tensor as_rows(const Tensor& x) { return !x.defined() || is_rows(x) ? to_current_device(x) : dense_copy(x); }

/// Operands of the forward pass, which the gradient needs.
struct BatchNormSaved {
  Tensor x, gamma, beta, mean, variance, residual;
  float epsilon;
  bool relu;
  std::int64_t count;  ///< number of rows that the statistics were computed from; 0 if they were given
  GatherRows gather;
  Tensor y{};  ///< the result, if a ReLU follows the addition of a residual

  void normalize(const Tensor& to) const {
    launch(kernels::BatchNorm{x, gamma, beta, mean, variance, epsilon, relu, to, residual});
  }

  void contribute_gradients(BackwardContext& c) const {
    if (c.is_recorded()) return contribute_by_ops(c);
    const Tensor dy = make_rows(c.gradient(0));
    // With respect to the sum of the residual and the normalized x; written by the kernel of the sums.
    const Tensor dsum = y.defined() ? Tensor::empty(x.shape(), x.dtype()) : Tensor();
    const Tensor dgamma = memory_of_sums(c, 1);
    const Tensor dbeta = memory_of_sums(c, 2);
    if (count > 0 || c.needs(1) || c.needs(2) || dsum.defined())
      launch(kernels::BatchNormGradientSums{x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta, y, dsum});
    if (c.needs(0)) {
      const Tensor& upper = dsum.defined() ? dsum : dy;
      if (count > 0 && gather)
        contribute_gradient_of_x(c, upper, sums_of_all(dgamma, dbeta));
      else
        contribute_gradient_of_x(c, upper, {dgamma, dbeta});
      if (count > 0 && !gather) c.set_rows_sum_to_zero(0);  // adding to a channel changes its mean, and no result
    }
    if (c.needs(1)) hand_over(c, 1, dgamma);
    if (c.needs(2)) hand_over(c, 2, dbeta);
    contribute_gradient_of_residual(c, dsum);
  }

 private:
  void contribute_by_ops(BackwardContext& c) const {
    const Tensor dsum = y.defined() ? unary_gradient(functor::Relu{}, y, c.gradient(0)) : c.gradient(0);
    contribute_composed(c, {x, gamma, beta}, dsum,
                        [this](const std::vector<Tensor>& in) { return composed(in[0], in[1], in[2]); });
    contribute_ops(c, 3, [&] { return dsum; });
  }

  /// The result by ops, without a residual.
  Tensor composed(const Tensor& of_x, const Tensor& scale, const Tensor& shift) const {
    const Tensor rows = cast(reshape(of_x, {-1, gamma.elements()}), DType::f32);
    const Tensor centered = rows - (count > 0 ? mean_of_all(rows) : mean);
    const Tensor squares = count > 0 ? mean_of_all(square(centered)) : variance;
    const Tensor result = centered * rsqrt(squares + epsilon) * scale + shift;
    return cast(reshape(relu && !y.defined() ? lockstep::relu(result) : result, of_x.shape()), of_x.dtype());
  }

  /// The mean over the rows of all parts of the batch, by ops.
  Tensor mean_of_all(const Tensor& rows) const {
    if (!gather) return lockstep::mean(rows, {0});
    return sum(gather(sum(rows, {0}, true)), {0}) / static_cast<double>(count);
  }

  /// For the gradient of gamma or beta. The gradients of one tensor that is several inputs cannot share its
  /// destination.
  Tensor memory_of_sums(BackwardContext& c, int input) const {
    const bool shared = gamma.id() == beta.id() || x.id() == gamma.id() || x.id() == beta.id();
    return c.needs(input) && !shared ? memory_for(c, input, gamma.shape()) : Tensor::empty(gamma.shape());
  }

  struct Sums {
    Tensor dgamma, dbeta;
  };

  void contribute_gradient_of_residual(BackwardContext& c, const Tensor& dsum) const {
    if (!c.needs(3)) return;
    if (dsum.defined() && !c.contributed(3).defined())
      set_first(c, 3, dsum);
    else
      pass_on(c, 3, dsum.defined() ? dsum : c.gradient(0));
  }

  void contribute_gradient_of_x(BackwardContext& c, const Tensor& dy, const Sums& sums) const {
    const auto compute = [&](const Tensor& dx) {
      launch(kernels::BatchNormGradientX{x, gamma, beta, mean, variance, epsilon, relu && !y.defined(), dy, sums.dgamma,
                                         sums.dbeta, count, dx});
    };
    if (!x_is_free(c)) return contribute(c, 0, x.shape(), compute, x.dtype());
    compute(x);
    c.set(0, x, true);
  }

  /// Over all parts of the batch.
  Sums sums_of_all(const Tensor& dgamma, const Tensor& dbeta) const {
    const std::int64_t channels = gamma.elements();
    const Tensor own = Tensor::empty({2 * channels});
    copy(dgamma, own.slice_view(0, 0, channels));
    copy(dbeta, own.slice_view(0, channels, 2 * channels));
    const Tensor parts = gather(own.view({1, 2 * channels}));
    const Tensor total = Tensor::empty({2 * channels});
    launch(kernels::SumMiddle{parts.view({1, parts.dim(0), 2 * channels}), total.view({1, 2 * channels})});
    return {total.slice_view(0, 0, channels), total.slice_view(0, channels, 2 * channels)};
  }

  /// Whether x's gradient may be written over x: nobody else will read it, and it is the first contribution. That saves
  /// a pass through memory that is not in the cache.
  bool x_is_free(const BackwardContext& c) const {
    return x.unique() && x.is_dense() && !c.contributed(0).defined() && !c.destination(0).defined();
  }
};

/// The mean, the variance and the number of rows of all parts of a batch.
void moments_of_all(BatchNormSaved& saved) {
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

/// Computes y, and records the op.
Tensor normalize(const char* op, BatchNormSaved saved, const Tensor& out) {
  const Tensor y = out.defined() ? out : Tensor::empty(saved.x.shape(), saved.x.dtype());
  saved.normalize(y);
  const std::initializer_list<Tensor> inputs{saved.x, saved.gamma, saved.beta, saved.residual};
  if (!recording(inputs)) return y;
  const bool adds = saved.residual.defined();
  if (adds && saved.relu) saved.y = y;
  saved.residual = {};  // its gradient does not depend on it
  record(op, inputs, y, [saved](BackwardContext& c) { saved.contribute_gradients(c); });
  // Given statistics may be variables that change before the backward pass.
  if (saved.count > 0 && !adds) record_recompute(y, [saved](const Tensor& again) { saved.normalize(again); });
  return y;
}

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const BatchNormOptions& options) try {
  check_operands("batch_norm", x, gamma, beta, options);
  BatchNormSaved saved{.x = as_rows(x),
                       .gamma = to_current_device(gamma),
                       .beta = to_current_device(beta),
                       .mean = Tensor::empty(gamma.shape()),
                       .variance = Tensor::empty(gamma.shape()),
                       .residual = as_rows(options.residual),
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
  check_operands("batch_norm_inference", x, gamma, beta, options);
  check_vector("batch_norm_inference", "the mean", mean, x);
  check_vector("batch_norm_inference", "the variance", variance, x);
  const BatchNormSaved saved{.x = as_rows(x),
                             .gamma = to_current_device(gamma),
                             .beta = to_current_device(beta),
                             .mean = to_current_device(mean),
                             .variance = to_current_device(variance),
                             .residual = as_rows(options.residual),
                             .epsilon = options.epsilon,
                             .relu = options.relu,
                             .count = 0,
                             .gather = {}};
  return normalize("batch_norm_inference", saved, options.out);
} catch (Error& error) {
  rethrow_from("batch_norm_inference", error);
}

void update_moving_averages(const std::vector<MovingAverage>& averages) try {
  for (const auto& [average, value, momentum] : averages)
    require(average.defined() && value.defined() && average.shape() == value.shape() && average.dtype() == DType::f32 &&
                value.dtype() == DType::f32 && average.is_dense() && value.is_dense(),
            "update_moving_averages: average and value must be dense f32 of one shape, got {} and {}", average, value);
  for (auto rest = std::span(averages); !rest.empty();) {
    const LogicalDevice device = rest.front().average.device();
    const ContextScope there(context_on(device));
    std::vector<Tensor> values;
    std::set<const float*> distinct;
    kernels::MovingAverages together;
    for (; !rest.empty() && together.averages.size() < together.most; rest = rest.subspan(1)) {
      const auto& [average, value, momentum] = rest.front();
      if (average.device() != device || !distinct.insert(average.data<float>()).second) break;
      values.push_back(reachable_from(device, value));
      together.averages.push_back({average.data<float>(), values.back().data<float>(), average.elements(), momentum});
    }
    launch(together);
  }
} catch (Error& error) {
  rethrow_from("update_moving_averages", error);
}

}  // namespace lockstep
