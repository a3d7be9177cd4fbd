#include "lockstep/models/losses/focal.h"

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

using BinaryOptions = BinaryFocalCrossentropyOptions;
using CategoricalOptions = CategoricalFocalCrossentropyOptions;

Loss::Function binary(const BinaryOptions& options) {
  check_smoothing(options.label_smoothing);
  return [options](const Tensor& y_true, const Tensor& y_pred) {
    require(y_pred.rank() >= 2, "binary_focal_crossentropy takes predictions (n, ..., k), got {}", y_pred);
    const Tensor y = smoothed(targets_like("binary_focal_crossentropy", y_true, y_pred), options.label_smoothing, 2);
    const Tensor logits = options.from_logits ? y_pred : logits_of("sigmoid", y_pred);
    const Tensor p = options.from_logits ? sigmoid(y_pred) : y_pred;
    const Tensor missed = y * (1.0 - p) + (1.0 - y) * p;
    const Tensor crossentropy = logits.defined() ? sigmoid_cross_entropy(logits, y) : binary_cross_entropy(p, y);
    const Tensor focal = power(missed, options.gamma) * crossentropy;
    if (!options.apply_class_balancing) return mean_by_example(focal);
    return mean_by_example((y * options.alpha + (1.0 - y) * (1 - options.alpha)) * focal);
  };
}

/// The weights (classes). They are filled on the device, because a copy from the host could not be captured in a CUDA
/// graph.
Tensor class_weights(const std::vector<double>& alpha) {
  std::vector<Tensor> weights;
  for (const double weight : alpha) weights.push_back(Tensor::full({1}, weight));
  return concatenate(weights, 0);
}

Loss::Function categorical(const CategoricalOptions& options) {
  check_smoothing(options.label_smoothing);
  require(!options.alpha.empty(), "categorical_focal_crossentropy needs an alpha, got none");
  return [options](const Tensor& y_true, const Tensor& y_pred) {
    const auto weights = static_cast<std::int64_t>(options.alpha.size());
    require(y_pred.rank() >= 2 && y_pred.dim(-1) >= 1 && (weights == 1 || weights == y_pred.dim(-1)),
            "categorical_focal_crossentropy takes predictions (n, ..., {}), got {}",
            weights == 1 ? "classes" : std::to_string(weights), y_pred);
    const Tensor y = smoothed(targets_like("categorical_focal_crossentropy", y_true, y_pred), options.label_smoothing,
                              static_cast<double>(y_pred.dim(-1)));
    const Tensor p = options.from_logits ? softmax(y_pred) : y_pred;
    const Tensor shares = clip(p / sum(p, {-1}, true), keras_epsilon, 1 - keras_epsilon);
    const Tensor focal = power(1.0 - shares, options.gamma) * y * log(shares);
    return mean_by_example(
        -sum(weights == 1 ? focal * options.alpha.front() : focal * class_weights(options.alpha), {-1}));
  };
}

}  // namespace

void BinaryFocalCrossentropyOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("apply_class_balancing", apply_class_balancing);
  visitor.option("alpha", alpha);
  visitor.option("gamma", gamma);
  visitor.option("from_logits", from_logits);
  visitor.option("label_smoothing", label_smoothing);
}

void CategoricalFocalCrossentropyOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.one_or_more("alpha", alpha);
  visitor.option("gamma", gamma);
  visitor.option("from_logits", from_logits);
  visitor.option("label_smoothing", label_smoothing);
}

BinaryFocalCrossentropy::BinaryFocalCrossentropy(const BinaryOptions& options)
    : Loss("binary_focal_crossentropy", binary(options), config_of("BinaryFocalCrossentropy", options)) {}

CategoricalFocalCrossentropy::CategoricalFocalCrossentropy(const CategoricalOptions& options)
    : Loss("categorical_focal_crossentropy", categorical(options), config_of("CategoricalFocalCrossentropy", options)) {
}

}  // namespace lockstep
