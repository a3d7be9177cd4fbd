#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// Computes loss (rows) and probabilities (rows, n) from logits (rows, n) and i64 labels (rows). Dense f32 or bf16; the
/// probabilities are f32. Returns the first row whose label is outside [0, n), or -1.
struct SparseSoftmaxCrossEntropy {
  Tensor logits;
  Tensor labels;
  Tensor loss;
  Tensor probabilities;

  static constexpr const char* name = "sparse_softmax_cross_entropy";
  auto operands() const { return kernels::operands(logits, labels, loss, probabilities); }
  template <class Executor>
  std::int64_t run(Executor& on) const;
  std::int64_t on_cpu() const;
};

/// dx = dloss (rows) * (probabilities - one_hot(labels)). Dense f32 or bf16; the probabilities are f32.
struct SparseSoftmaxCrossEntropyGradient {
  Tensor probabilities;
  Tensor labels;
  Tensor dloss;
  Tensor dx;

  static constexpr const char* name = "sparse_softmax_cross_entropy_gradient";
  auto operands() const { return kernels::operands(probabilities, labels, dloss, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

///@{
/// Binary cross-entropy of each element x, a logit or a probability, and its gradient with respect to x. All tensors
/// are dense f32 of one shape.
struct BinaryCrossEntropy {
  bool from_logits;
  Tensor x;
  Tensor targets;
  Tensor loss;

  static constexpr const char* name = "binary_cross_entropy";
  auto operands() const { return kernels::operands(x, targets, loss); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

struct BinaryCrossEntropyGradient {
  bool from_logits;
  Tensor x;
  Tensor targets;
  Tensor dloss;
  Tensor dx;

  static constexpr const char* name = "binary_cross_entropy_gradient";
  auto operands() const { return kernels::operands(x, targets, dloss, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};
///@}

}  // namespace lockstep::kernels
