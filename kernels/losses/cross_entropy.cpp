#include "lockstep/kernels/losses/cross_entropy.h"

#include <cmath>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/losses/cross_entropy_math.h>
#include <lockstep/kernels/losses/losses_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

/// Labels with -1 in place of those that are no whole numbers in [0, classes], in which the dtype may round `classes`.
Tensor only_classes(const Tensor& labels, std::int64_t classes) {
  const NoGradientScope not_recorded;
  const Tensor is_class =
      logical_and(equal(floor(labels), labels),
                  logical_and(greater_equal(labels, 0), less_equal(labels, static_cast<double>(classes))));
  return where(is_class, labels, -1.0);
}

/// Labels (n) or (n, 1) as dense i64 (n), with -1 in place of floating-point numbers that are no class. Throws
/// InvalidArgument for labels of another shape or dtype.
Tensor class_labels(const Tensor& logits, const Tensor& labels) {
  require(labels.defined() && labels.dtype() != DType::boolean,
          "sparse_softmax_cross_entropy takes labels of integers or whole numbers, got {}", labels);
  const bool fits =
      labels.elements() == logits.dim(0) && (labels.rank() == 1 || (labels.rank() == 2 && labels.dim(1) == 1));
  require(fits, "sparse_softmax_cross_entropy takes labels (n) or (n, 1) for logits (n, classes), got {} for {}",
          labels, logits);
  const Tensor here = to_current_device(labels);
  const Tensor result = Tensor::empty(labels.shape(), DType::i64);
  launch(kernels::Convert{is_real(labels.dtype()) ? only_classes(here, logits.dim(1)) : here, result});
  return result.view({labels.elements()});
}

/// The gradient of binary_loss by ops.
Tensor binary_gradient(bool from_logits, const Tensor& x, const Tensor& target, const Tensor& dloss) {
  if (from_logits) return multiply(dloss, subtract(sigmoid(x), target));
  using Rule = BinaryCrossEntropyFromProbabilities;
  const Tensor clipped = logical_or(less(x, Rule::lowest), greater(x, Rule::highest));
  const Tensor p = where(clipped, 0.5, x);
  return where(clipped, 0.0, divide(multiply(dloss, subtract(p, target)), multiply(p, subtract(1.0, p))));
}

Tensor binary_loss(const char* op, bool from_logits, const Tensor& predictions, const Tensor& targets) try {
  require_real(op, predictions);
  require(targets.defined() && targets.shape() == predictions.shape(), "{} takes targets of the shape of {}, got {}",
          op, predictions, targets);
  if (predictions.dtype() == DType::bf16)
    return cast(binary_loss(op, from_logits, cast(predictions, DType::f32), targets), DType::bf16);
  const Tensor x = to_current_device(predictions);
  const Tensor in = dense_copy(x);
  Tensor target = make_dense(to_current_device(targets));
  if (target.dtype() != DType::f32) {
    const Tensor converted = Tensor::empty(x.shape());
    launch(kernels::Convert{target, converted});
    target = converted;
  }
  const Tensor loss = Tensor::empty(x.shape());
  launch(kernels::BinaryCrossEntropy{from_logits, in, target, loss});
  if (recording({in})) {
    record(op, {in}, loss, [from_logits, in, target](BackwardContext& c) {
      if (c.is_recorded())
        return contribute_ops(c, 0, [&] { return binary_gradient(from_logits, in, target, c.gradient(0)); });
      contribute(c, 0, in.shape(), [&](const Tensor& out) {
        launch(kernels::BinaryCrossEntropyGradient{from_logits, in, target, make_dense(c.gradient(0)), out});
      });
    });
  }
  return loss;
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

Tensor sparse_softmax_cross_entropy(const Tensor& x, const Tensor& labels) try {
  require_real("sparse_softmax_cross_entropy", x);
  require(x.rank() == 2, "sparse_softmax_cross_entropy takes logits (n, classes), got {}", x);
  const Tensor logits = to_current_device(x);
  const Tensor label = class_labels(logits, labels);
  const Tensor loss = Tensor::empty({logits.dim(0)}, logits.dtype());
  const Tensor probabilities = Tensor::empty(logits.shape());
  const std::int64_t bad = launch(kernels::SparseSoftmaxCrossEntropy{make_dense(logits), label, loss, probabilities});
  if (bad >= 0) {
    const double value = labels.to_vector<double>().at(static_cast<std::size_t>(bad));
    require(value == std::floor(value), "label {} in row {} is not a whole number", value, bad);
    fail("label {} in row {} is outside [0, {})", value, bad, logits.dim(1));
  }
  if (recording({logits})) {
    const Tensor tracked = several_tapes_record() ? logits : Tensor();
    record("sparse_softmax_cross_entropy", {logits}, loss, [probabilities, label, tracked](BackwardContext& c) {
      const DType dtype = c.gradient(0).dtype();
      if (c.is_recorded()) {
        const Tensor p = tracked.defined() ? softmax(cast(tracked, DType::f32)) : probabilities;
        const Tensor chosen = one_hot(label, probabilities.dim(1));
        const Tensor dloss = cast(expand_dims(c.gradient(0), 1), DType::f32);
        return contribute_ops(c, 0, [&] { return cast(multiply(dloss, subtract(p, chosen)), dtype); });
      }
      contribute(
          c, 0, probabilities.shape(),
          [&](const Tensor& out) {
            launch(kernels::SparseSoftmaxCrossEntropyGradient{probabilities, label, make_dense(c.gradient(0)), out});
          },
          dtype);
    });
  }
  return loss;
} catch (Error& error) {
  rethrow_from("sparse_softmax_cross_entropy", error);
}

Tensor sigmoid_cross_entropy(const Tensor& logits, const Tensor& targets) {
  return binary_loss("sigmoid_cross_entropy", true, logits, targets);
}

Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& targets) {
  return binary_loss("binary_cross_entropy", false, probabilities, targets);
}

}  // namespace lockstep
