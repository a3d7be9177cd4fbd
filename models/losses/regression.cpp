#include "lockstep/models/losses/regression.h"

#include <cmath>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

/// The loss that is the mean of element(y, p) over each example. Targets get the shape of predictions first.
template <class Element>
Loss mean_of(const char* name, const ObjectConfig& config, const Element& element) {
  const auto mean = [name, element](const Tensor& y_true, const Tensor& y_pred) {
    return mean_by_example(element(targets_like(name, y_true, y_pred), y_pred));
  };
  return Loss(name, mean, config);
}

Tensor huber(const Tensor& error, double delta) {
  const Tensor size = abs(error);
  const Tensor beyond = relu(size - delta);
  const Tensor within = size - beyond;  // min(|error|, delta)
  return square(within) * 0.5 + beyond * delta;
}

/// |x| + log(1 + exp(-2 |x|)) - log 2, which has no exponential of a large number.
Tensor log_cosh(const Tensor& x) {
  const Tensor size = abs(x);
  return size + log(exp(size * -2.0) + 1.0) - std::log(2.0);
}

Tensor in_unit_interval(const Tensor& x) {
  const Tensor low = maximum(x, keras_epsilon);
  return low - relu(low - 1.0);
}

/// x divided by its length along `axis`. The squared length is clipped, since the square root has no gradient at 0.
Tensor normalized(const Tensor& x, int axis) {
  return x * rsqrt(maximum(sum(square(x), {axis}, true), keras_epsilon * keras_epsilon));
}

Loss::Function cosine_similarity(int axis) {
  return [axis](const Tensor& y_true, const Tensor& y_pred) {
    require(axis != 0 && axis != -y_pred.rank(), "cosine_similarity takes predictions (n, ...) with an axis {}, got {}",
            axis, y_pred);
    const Tensor y = targets_like("cosine_similarity", y_true, y_pred);
    return mean_by_example(-sum(normalized(y, axis) * normalized(y_pred, axis), {axis}));
  };
}

double checked_delta(double delta) {
  require(delta > 0, "Huber needs a delta above 0, got {}", delta);
  return delta;
}

}  // namespace

MeanSquaredError::MeanSquaredError()
    : Loss(mean_of("mean_squared_error", {"MeanSquaredError"},
                   [](const Tensor& y, const Tensor& p) { return square(y - p); })) {}

MeanAbsoluteError::MeanAbsoluteError()
    : Loss(mean_of("mean_absolute_error", {"MeanAbsoluteError"},
                   [](const Tensor& y, const Tensor& p) { return abs(y - p); })) {}

MeanAbsolutePercentageError::MeanAbsolutePercentageError()
    : Loss(mean_of(
          "mean_absolute_percentage_error", {"MeanAbsolutePercentageError"},
          [](const Tensor& y, const Tensor& p) { return abs((y - p) / maximum(abs(y), keras_epsilon)) * 100.0; })) {}

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError()
    : Loss(mean_of("mean_squared_logarithmic_error", {"MeanSquaredLogarithmicError"},
                   [](const Tensor& y, const Tensor& p) {
                     return square(log(maximum(p, keras_epsilon) + 1.0) - log(maximum(y, keras_epsilon) + 1.0));
                   })) {}

Huber::Huber(const HuberOptions& options)
    : Loss(mean_of(
          "huber_loss", config_of("Huber", options),
          [delta = checked_delta(options.delta)](const Tensor& y, const Tensor& p) { return huber(p - y, delta); })) {}

LogCosh::LogCosh()
    : Loss(mean_of("log_cosh", {"LogCosh"}, [](const Tensor& y, const Tensor& p) { return log_cosh(p - y); })) {}

Poisson::Poisson()
    : Loss(mean_of("poisson", {"Poisson"},
                   [](const Tensor& y, const Tensor& p) { return p - y * log(p + keras_epsilon); })) {}

KLDivergence::KLDivergence()
    : Loss(
          "kl_divergence",
          [](const Tensor& y_true, const Tensor& y_pred) {
            require(y_pred.rank() >= 2, "kl_divergence takes predictions (n, ..., k), got {}", y_pred);
            const Tensor y = in_unit_interval(targets_like("kl_divergence", y_true, y_pred));
            const Tensor by_element = y * log(y / in_unit_interval(y_pred));
            return mean_by_example(by_element) * static_cast<double>(y_pred.dim(-1));
          },
          ObjectConfig{"KLDivergence"}) {}

CosineSimilarity::CosineSimilarity(const CosineSimilarityOptions& options)
    : Loss("cosine_similarity", cosine_similarity(options.axis), config_of("CosineSimilarity", options)) {}

}  // namespace lockstep
