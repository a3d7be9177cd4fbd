#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

struct BatchNormOptions {
  float epsilon = 1e-3F;
  bool relu = false;  ///< applies max(0, .) in the same pass
  /// Where to write the result, if defined: x's shape, may be a channel slice of a wider tensor.
  Tensor out{};
};

struct BatchNormResult {
  Tensor y;
  Tensor mean;      ///< (c) over all but the last axis
  Tensor variance;  ///< (c), biased (divided by the count), as Keras 3 keeps it
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis with the batch's own statistics
/// (Ioffe and Szegedy 2015). Differentiable in x, gamma, beta. x may have zero rows: then the statistics are 0.
BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const BatchNormOptions& options = {});

/// The same with given statistics, as at evaluation. Differentiable in x, gamma, beta.
Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                            const Tensor& variance, const BatchNormOptions& options = {});

/// average = average * momentum + value * (1 - momentum), in place. Not differentiable.
void update_moving_average(const Tensor& average, const Tensor& value, float momentum);

}  // namespace lockstep
