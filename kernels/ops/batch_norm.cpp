#include <lockstep/kernels/ops/array.h>
#include <lockstep/kernels/ops/batch_norm.h>
#include <lockstep/kernels/ops/gradient.h>
#include <lockstep/kernels/ops/transfer.h>

namespace lockstep {
namespace {

void check_vector(const char* op, const char* what, const Tensor& value, const Tensor& x) {
  require(value.defined() && value.dtype() == DType::f32 && value.shape() == Shape{x.dim(-1)} && value.is_dense(),
          "{}: {} for x {} must be dense f32 ({}), got {}", op, what, x.shape(), x.dim(-1), value);
}

void check_operands(const char* op, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& out) {
  require(x.defined() && x.rank() >= 1 && x.dtype() == DType::f32, "{}: x must be f32 (..., channels), got {}", op, x);
  check_vector(op, "gamma", gamma, x);
  check_vector(op, "beta", beta, x);
  require(!out.defined() || (out.shape() == x.shape() && out.dtype() == DType::f32 && is_rows(out)),
          "{}: the output must be f32 {}, dense or a channel slice, got {}", op, x.shape(), out);
}

/// What the gradient needs.
struct Saved {
  Tensor x, gamma, beta, mean, variance;
  float epsilon;
  bool relu;
  bool batch_statistics;

  void contribute_gradients(BackwardContext& c) const {
    const Tensor dy = make_rows(c.gradient(0));
    const Tensor dgamma = c.needs(1) ? Tensor::empty(gamma.shape()) : Tensor();
    const Tensor dbeta = c.needs(2) ? Tensor::empty(beta.shape()) : Tensor();
    const auto compute = [&](const Tensor& dx) {
      current_backend().batch_norm_gradient(x, gamma, beta, mean, variance, epsilon, relu, batch_statistics, dy, dx,
                                            dgamma, dbeta);
    };
    if (!c.needs(0)) {
      compute(Tensor());
    } else if (x_is_free(c)) {
      compute(x);
      c.set(0, x, true);
    } else {
      contribute(c, 0, x.shape(), compute);
    }
    contribute(c, 1, gamma.shape(), [&](const Tensor& out) { copy(dgamma, out); });
    contribute(c, 2, beta.shape(), [&](const Tensor& out) { copy(dbeta, out); });
  }

 private:
  /// Whether x's gradient may be written over x: nobody else will read it, and it is the first contribution. That saves
  /// a pass through memory that is not in the cache.
  bool x_is_free(const BackwardContext& c) const {
    return x.unique() && x.is_dense() && !c.contributed(0).defined() && !c.destination(0).defined();
  }
};

Tensor normalize(const char* op, const Saved& saved, const Tensor& out) {
  const Tensor y = out.defined() ? out : Tensor::empty(saved.x.shape());
  current_backend().batch_norm(saved.x, saved.gamma, saved.beta, saved.mean, saved.variance, saved.epsilon, saved.relu,
                               y);
  if (recording({saved.x, saved.gamma, saved.beta}))
    record(op, {saved.x, saved.gamma, saved.beta}, y, [saved](BackwardContext& c) { saved.contribute_gradients(c); });
  return y;
}

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const BatchNormOptions& options) {
  check_operands("batch_norm", x, gamma, beta, options.out);
  const Saved saved{.x = is_rows(x) ? to_current_device(x) : dense_copy(x),
                    .gamma = to_current_device(gamma),
                    .beta = to_current_device(beta),
                    .mean = Tensor::empty(gamma.shape()),
                    .variance = Tensor::empty(gamma.shape()),
                    .epsilon = options.epsilon,
                    .relu = options.relu,
                    .batch_statistics = true};
  current_backend().channel_moments(saved.x, saved.mean, saved.variance);
  return {normalize("batch_norm", saved, options.out), saved.mean, saved.variance};
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                            const Tensor& variance, const BatchNormOptions& options) {
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
                    .batch_statistics = false};
  return normalize("batch_norm_inference", saved, options.out);
}

void update_moving_average(const Tensor& average, const Tensor& value, float momentum) {
  require(average.defined() && value.defined() && average.shape() == value.shape() && average.dtype() == DType::f32 &&
              value.dtype() == DType::f32,
          "update_moving_average: average and value must be f32 of one shape, got {} and {}", average, value);
  current_backend().moving_average(average, value, momentum);
}

}  // namespace lockstep
