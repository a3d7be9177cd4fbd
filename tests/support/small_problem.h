#pragma once

#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/metrics/accuracy.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>
#include <lockstep/runtime/data/dataset.h>

// A classification problem that a small model learns quickly.

namespace lockstep::test {

/// Points of the cube [-1, 1]^8; the label of a point is the index of the largest of its first three coordinates.
struct SmallProblem {
  explicit SmallProblem(std::int64_t examples, unsigned seed = 1) : x(random_tensor({examples, 8}, seed)) {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < examples; ++i) {
      const float* point = x.data<float>() + 8 * i;
      labels.push_back(std::max_element(point, point + 3) - point);
    }
    y = Tensor::from(labels, {examples});
  }
  Dataset dataset() const { return Dataset::from_tensors(x, y); }

  Tensor x;
  Tensor y;
};

/// A compiled model, 8 -> 16 -> 3 logits, with the same initial weights in every call.
inline Model small_model(const Strategy& strategy,
                         const SgdOptions& options = {.learning_rate = 0.2, .momentum = 0.9}) {
  const auto inside = strategy.scope();
  const Symbol input = Input({8});
  const Symbol hidden = Dense({.units = 16, .activation = Activation::relu})(input);
  Model model(input, Dense({.units = 3})(hidden), {.seed = 5});
  model.compile(SGD(options), SparseCategoricalCrossentropy{{.from_logits = true}}, {Accuracy{}});
  return model;
}

inline std::vector<std::vector<double>> weights_of(const Model& model) {
  std::vector<std::vector<double>> weights;
  for (const Variable& variable : model.variables()) weights.push_back(variable.value().to_vector<double>());
  return weights;
}

}  // namespace lockstep::test
