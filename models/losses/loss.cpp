#include <lockstep/kernels/ops/cross_entropy.h>
#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/models/losses/loss.h>

namespace lockstep {
namespace {

constexpr double keras_epsilon = 1e-7;

/// max(probabilities, epsilon) in log space. Keras clips at 1 - epsilon too, which is the nearest f32 below 1 and makes
/// no more difference to a loss than 1e-7.
Tensor safe_log(const Tensor& probabilities) {
  return log(add(relu(add(probabilities, -keras_epsilon)), keras_epsilon));
}

Loss::Function sparse_categorical(bool from_logits) {
  return [from_logits](const Tensor& y_true, const Tensor& y_pred) {
    return sparse_softmax_cross_entropy(from_logits ? y_pred : safe_log(y_pred), y_true);
  };
}

Loss::Function binary(bool from_logits) {
  return [from_logits](const Tensor& y_true, const Tensor& y_pred) {
    require(y_pred.rank() == 2, "binary_crossentropy takes predictions (n, k), got {}", y_pred);
    const bool flat = y_true.rank() == 1 && y_pred.dim(1) == 1;  // one label for each example
    const Tensor targets = flat ? y_true.view(Shape{y_true.dim(0), 1}) : y_true;
    const Tensor by_element =
        from_logits ? sigmoid_cross_entropy(y_pred, targets) : binary_cross_entropy(y_pred, targets);
    return mean(by_element, {1});
  };
}

}  // namespace

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const CrossentropyOptions& options)
    : Loss("sparse_categorical_crossentropy", sparse_categorical(options.from_logits)) {}

BinaryCrossentropy::BinaryCrossentropy(const CrossentropyOptions& options)
    : Loss("binary_crossentropy", binary(options.from_logits)) {}

}  // namespace lockstep
