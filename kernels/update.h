#pragma once

#include <cstdint>
#include <span>

// Kernels on flat f32 memory that read every replica's gradients and write every replica's parameters: the reduction
// and the optimizer's step in one pass. They know no tensors, so that memory of other frameworks can be updated too.

namespace lockstep {

/// Parameters of one range, all copies equal before and after.
struct UpdateViews {
  std::span<const float* const> gradients;  ///< one per replica; summed in order
  std::span<float* const> parameters;       ///< one per replica
  std::span<float* const> state;            ///< the rule's slots, held once
  std::int64_t count = 0;
};

/// Keras' SGD: v = momentum * v - learning_rate * g; w += v, or with nesterov w += momentum * v - learning_rate * g.
/// One state slot when momentum != 0, else none. `weight_decay`, if not 0: w -= w * weight_decay * learning_rate first.
struct SgdStep {
  float learning_rate = 0.01F;
  float momentum = 0;
  bool nesterov = false;
  float weight_decay = 0;
};

/// Keras' Adam (Kingma and Ba 2015) with the bias correction folded into the step:
/// w -= learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon). Slots: m, v.
struct AdamStep {
  float learning_rate = 0.001F;
  double beta_1 = 0.9;  // double, as 1 - beta would lose digits of a float
  double beta_2 = 0.999;
  float epsilon = 1e-7F;
  std::int64_t t = 1;  ///< this step's number, from 1
};

}  // namespace lockstep
