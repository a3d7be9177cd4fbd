#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>

// Checks that the tests of the image models share.

namespace lockstep::test {

inline std::int64_t trainable_params(const Model& model) {
  std::int64_t count = 0;
  for (const Variable& variable : model.trainable_variables()) count += variable.shape().elements();
  return count;
}

/// Output shape of the layer with this name, without the batch axis; empty if there is no such layer.
inline Shape shape_after(const Model& model, std::string_view layer) {
  for (const GraphCall& call : model.network().calls())
    if (model.network().layers()[static_cast<std::size_t>(call.layer)].name() == layer) return call.shape;
  return {};
}

/// Takes steps of at most `length` on one batch. Checks that they lower its loss, and that all copies of every variable
/// are equal after each step. For models that output logits.
inline void expect_learns(Model& model, std::int64_t rows, double length = 1e-3) {
  Shape shape{rows};
  for (const std::int64_t size : model.network().input_shape()) shape.push_back(size);
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < rows; ++row) labels.push_back(row % model.network().output_shape()[0]);
  const Dataset batches = Dataset::from_tensors(random_tensor(shape, 1), Tensor::from(labels, {rows})).batch(rows);
  model.compile(SGD({.learning_rate = length}, {.global_clipnorm = 1}),
                SparseCategoricalCrossentropy{{.from_logits = true}});
  const History history = model.fit(batches, {.epochs = 3, .verify_every = 1});
  EXPECT_LT(history.values.at("loss").back(), history.values.at("loss").front());
}

/// Checks that a step on a batch changes the weights on two replicas as on one. For models that output logits of each
/// label.
template <class MakeModel>
void expect_same_step_on_two_replicas(const MakeModel& make_model, const Tensor& x, const Tensor& y) {
  const auto weights_after = [&](int replicas, int steps) {
    const MirroredStrategy strategy = mirrored(replicas);
    Model model = strategy.scope(make_model);
    model.compile(SGD({.learning_rate = 0.5}), SparseCategoricalCrossentropy{{.from_logits = true}});
    if (steps > 0) model.fit(Dataset::from_tensors(x, y).batch(x.dim(0)), {.epochs = steps, .verify_every = 1});
    std::vector<std::vector<double>> weights;
    for (const Variable& variable : model.variables()) weights.push_back(variable.value().to_vector<double>());
    return weights;
  };
  const auto before = weights_after(1, 0);
  const auto one = weights_after(1, 1);
  const auto two = weights_after(2, 1);
  const double allowed = tolerance(DType::f32, y.elements(), 1);
  double largest_change = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    for (std::size_t j = 0; j < one[i].size(); ++j) {
      ASSERT_NEAR(two[i][j], one[i][j], allowed) << "variable " << i << ", element " << j;
      largest_change = std::max(largest_change, std::abs(one[i][j] - before[i][j]));
    }
  EXPECT_GT(largest_change, 1000 * allowed);
}

}  // namespace lockstep::test
