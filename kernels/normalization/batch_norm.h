#pragma once

#include <cstdint>
#include <functional>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// What every holder of a part of the batch has: own (1, k) -> (parts, k), the same for all of them, who all have to
/// call it.
using GatherRows = std::function<Tensor(const Tensor& own)>;

/// How batch_norm computes, and where to.
struct BatchNormOptions {
  float epsilon = 1e-3F;  ///< added to the variance
  bool relu = false;      ///< applies max(0, .) in the same pass
  /// Where to write the result, if defined: x's shape, may be a channel slice of a wider tensor.
  Tensor out{};
  /// If given, x is one of several parts of a batch, of any sizes, and the statistics are those of the whole batch:
  /// gathers what the parts have to know of each other, once forward and once backward. Not read at inference.
  GatherRows gather{};
};

/// What batch_norm makes: the result, and the statistics that it used.
struct BatchNormResult {
  Tensor y;               ///< x's shape
  Tensor mean;            ///< (c) over all but the last axis
  Tensor variance;        ///< (c), biased (divided by the count), as Keras 3 keeps it
  std::int64_t rows = 0;  ///< that they are of
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis with the batch's own statistics
/// (Ioffe and Szegedy 2015). Differentiable in x, gamma, beta. x may have zero rows: then the statistics are 0. x and y
/// are f32 or bf16; all else is f32.
BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const BatchNormOptions& options = {});

/// The same with given statistics, as at evaluation. Differentiable in x, gamma, beta.
Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                            const Tensor& variance, const BatchNormOptions& options = {});

/// average = average * momentum + value * (1 - momentum), in place. Not differentiable.
void update_moving_average(const Tensor& average, const Tensor& value, float momentum);

}  // namespace lockstep
