#include <array>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/regularizers.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

constexpr std::int64_t rows = 7;

Model regularized_model() {
  const Symbol input = Input({3});
  return {input, Dense({.units = 1, .use_bias = false, .kernel_regularizer = L2(0.1)})(input)};
}

/// The mean loss of all rows plus the penalty, as a function of the kernel.
Tensor loss_of(const Tensor& x, const Tensor& y, const Tensor& kernel) {
  const Tensor data = mean(BinaryCrossentropy({.from_logits = true})(y, dense(x, kernel, {})));
  return add(data, L2(0.1)(kernel));
}

// semantics 8: scale_regularization_loss. Replicas with 3, 2 and 2 rows take the penalty once together.
TEST(Regularization, IsPartOfTheLossOnceForAnyNumberOfReplicas) {
  const Tensor x = random_tensor({rows, 3}, 1);
  const Tensor y = Tensor::from<float>({0, 1, 1, 0, 1, 0, 0}, {rows, 1});
  const Dataset batches = Dataset::from_tensors(x, y).batch(rows);
  for (const int replicas : {1, 3}) {
    SCOPED_TRACE(replicas);
    const MirroredStrategy strategy = mirrored(replicas);
    Model model = strategy.scope(regularized_model);
    model.compile(SGD({.learning_rate = 0.5}), BinaryCrossentropy({.from_logits = true}));
    const Variable kernel = model.variables()[0];
    const Tensor before = Tensor::from(kernel.value().to_vector<float>(), kernel.shape());
    GradientTape tape;
    tape.watch(before);
    const Tensor loss = loss_of(x, y, before);
    const Tensor after = subtract(before, multiply(tape.gradient(loss, std::array{before})[0], 0.5));

    const History history = model.fit(batches);
    EXPECT_NEAR(history.values.at("loss")[0], loss.item<float>(), tolerance(DType::f32, rows, 1));
    expect_close(kernel.value(), after.to_vector<double>(), rows);
    EXPECT_NEAR(model.evaluate(batches).at("loss"), loss_of(x, y, after).item<float>(), tolerance(DType::f32, rows, 1));
  }
}

// Keras 3: only the trainable weights of a layer are penalized.
TEST(Regularization, OfLayersThatDoNotTrainIsNoPartOfTheLoss) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  const auto penalized = [](bool trainable) {
    const Dense layer({.units = 1, .kernel_initializer = ones, .kernel_regularizer = L2(0.5)});
    layer.impl().set_trainable(trainable);
    return layer;
  };
  Model model = Sequential({1}, {penalized(false), penalized(true), penalized(false)});
  model.compile(SGD({.learning_rate = 0}), MeanSquaredError());
  const Dataset zero = Dataset::from_tensors(Tensor::zeros({4, 1}), Tensor::zeros({4, 1})).batch(4);
  EXPECT_FLOAT_EQ(static_cast<float>(model.evaluate(zero).at("loss")), 0.5F);
  const History history = model.fit(zero, {.validation = zero});
  EXPECT_FLOAT_EQ(static_cast<float>(history.values.at("loss")[0]), 0.5F);
  EXPECT_FLOAT_EQ(static_cast<float>(history.values.at("val_loss")[0]), 0.5F);

  model.set_trainable(true);
  EXPECT_FLOAT_EQ(static_cast<float>(model.evaluate(zero).at("loss")), 1.5F);
  Model frozen = Sequential({1}, {penalized(false)});
  EXPECT_FALSE(frozen.network().regularization_loss().defined());
}

}  // namespace
}  // namespace lockstep::test
