#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// An all-gather between the replicas that hold the parts of a batch. Takes the calling replica's row `own` (1, k) and
/// returns the rows of all parts (parts, k), the same on every replica. All replicas that hold parts must call it.
using GatherRows = std::function<Tensor(const Tensor& own)>;

/// Options of batch_norm and batch_norm_inference.
struct BatchNormOptions {
  float epsilon = 1e-3F;  ///< added to the variance
  bool relu = false;      ///< applies max(0, .) to the result in the same pass
  /// If defined, added to the result before the ReLU, in the same pass. Must have x's shape and dtype.
  Tensor residual{};
  /// If defined, the result is written to this tensor, which must have x's shape and dtype and be dense or a channel
  /// slice of a wider tensor.
  Tensor out{};
  /// If given, x is one of several parts of a batch, and the statistics are computed over the whole batch. The parts
  /// may have different numbers of rows. `gather` is called in the forward pass and, if x needs a gradient and the
  /// batch has rows, in the backward pass. To differentiate the gradient, it must be an op that tapes record, such as
  /// ReplicaContext::all_gather. batch_norm_inference ignores `gather`.
  GatherRows gather{};
};

/// batch_norm's result and the statistics that it used.
struct BatchNormResult {
  Tensor y;               ///< x's shape
  Tensor mean;            ///< (c) f32, over all but the last axis
  Tensor variance;        ///< (c) f32, biased (divided by `rows`), as in Keras 3
  std::int64_t rows = 0;  ///< number of rows from which mean and variance were computed
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta, with the mean and variance of each channel (last axis) over
/// the batch (Ioffe and Szegedy 2015): x (..., c), gamma and beta (c). x and y are f32 or bf16; gamma, beta, mean and
/// variance are dense f32. x may have zero rows; if the whole batch has zero rows, mean and variance are 0.
/// Differentiable in x, gamma, beta and the residual. Throws InvalidArgument for other shapes, dtypes and layouts.
BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const BatchNormOptions& options = {});

/// batch_norm with the given mean and variance (c), for evaluation. Throws the errors of batch_norm. Differentiable in
/// x, gamma, beta and the residual.
Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                            const Tensor& variance, const BatchNormOptions& options = {});

/// The update of a moving average.
struct MovingAverage {
  ///@{
  /// Dense f32 tensors of the same shape.
  Tensor average, value;
  ///@}
  float momentum = 0;  ///< weight of `average`; `value` has the weight 1 - momentum
};
/// Sets average = average * momentum + value * (1 - momentum) in place, for each element of the list in order. Not
/// differentiable. Throws InvalidArgument, before changing anything, unless all tensors are as MovingAverage requires.
void update_moving_averages(const std::vector<MovingAverage>& averages);

}  // namespace lockstep
