#include <array>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/recompute_grad.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/verify.h>

// LayerImpl::add_loss.

namespace lockstep::test {
namespace {

constexpr std::int64_t coder_rows = 12;

/// The mean over the examples of the divergence between a normal distribution, whose means and logarithms of variances
/// are the halves of x, (n, 2 d), and the standard one; NaN for no examples.
Tensor divergence(const Tensor& x) {
  const std::vector<Tensor> halves = split(x, 2, 1);
  const Tensor& log_variance = halves[1];
  return mean(sum(square(halves[0]) + exp(log_variance) - log_variance - 1.0, {1})) * 0.5;
}

/// Returns its input, and adds its divergence to the loss.
class DivergenceImpl : public LayerImpl {
 public:
  DivergenceImpl() : LayerImpl("divergence") {}
  std::string_view class_name() const override { return "Divergence"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    add_loss(divergence(inputs[0]));
    return inputs[0];
  }
};

// In a function of recompute_grad, the gradient that it takes calls a second function again.
TEST(AddedLosses, CountOnceInFunctionsThatAreCalledAgainInsideEachOther) {
  const Tensor x = random_tensor({2}, 1);
  std::vector<std::vector<float>> sums;
  const auto inner = recompute_grad([](const Tensor& input) {
    AddedLosses::add(sum(input));
    return square(input);
  });
  const auto outer = recompute_grad([&](const Tensor& input) {
    const AddedLosses added;
    GradientTape tape;
    tape.watch(input);
    const Tensor y = inner(input);
    const Tensor gradient = tape.gradient(sum(y), std::array{input})[0];
    sums.push_back(added.sum().to_vector<float>());
    return gradient * y + added.sum();
  });
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(outer(x));
  (void)tape.gradient(y, std::array{x});
  ASSERT_EQ(sums.size(), 2);
  const std::vector<float> numbers = x.to_vector<float>();
  EXPECT_EQ(sums[0], std::vector{numbers[0] + numbers[1]});
  EXPECT_EQ(sums[1], sums[0]);
}

Model coder(const Strategy& strategy, const Regularizer& regularizer = {}) {
  const auto scope = strategy.scope();
  Model model = Sequential({3}, {Dense({.units = 4, .use_bias = false, .kernel_regularizer = regularizer}),
                                 Layer(std::make_shared<DivergenceImpl>()), Dense({.units = 2, .use_bias = false})});
  model.compile(SGD({.learning_rate = 0.25}), MeanSquaredError());
  return model;
}

/// Batches of 5, 5 and 2 examples, so that some replicas get none of the last one.
Dataset coder_data() {
  return Dataset::from_tensors(random_tensor({coder_rows, 3}, 1), random_tensor({coder_rows, 2}, 2)).batch(5);
}

/// The loss of a batch for the kernels of both Dense layers, without the model and its training.
Tensor loss_of_batch(const Batch& batch, const std::vector<Tensor>& kernels) {
  const Tensor code = dense(batch.x(), kernels[0], {});
  return mean(square(dense(code, kernels[1], {}) - batch.y())) + divergence(code);
}

class AddedLossesOn : public testing::TestWithParam<int> {
 protected:
  const MirroredStrategy strategy_ = mirrored(GetParam());
};

TEST_P(AddedLossesOn, AreTrainedAndLoggedAsByOneReplica) {
  Model model = coder(strategy_);
  std::vector<Tensor> kernels = model.get_weights();
  double total = 0;
  for (const Batch& batch : coder_data().epoch()) {
    GradientTape tape;
    for (const Tensor& kernel : kernels) tape.watch(kernel);
    const Tensor loss = loss_of_batch(batch, kernels);
    total += static_cast<double>(loss.item<float>()) * static_cast<double>(batch.size());
    const std::vector<Tensor> gradients = tape.gradient(loss, kernels);
    for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i] = kernels[i] - gradients[i] * 0.25;
  }
  const History history = model.fit(coder_data(), {.validation = coder_data()});
  EXPECT_NEAR(history.values.at("loss")[0], total / coder_rows, tolerance(DType::f32, coder_rows, total / coder_rows));
  for (std::size_t i = 0; i < kernels.size(); ++i)
    expect_close(model.variables()[i].value(), kernels[i].to_vector<double>(), 3 * coder_rows);
  double tested = 0;
  for (const Batch& batch : coder_data().epoch())
    tested += static_cast<double>(loss_of_batch(batch, kernels).item<float>()) * static_cast<double>(batch.size());
  EXPECT_NEAR(history.values.at("val_loss")[0], tested / coder_rows,
              tolerance(DType::f32, 3 * coder_rows, tested / coder_rows));
  EXPECT_EQ(model.evaluate(coder_data()).at("loss"), history.values.at("val_loss")[0]);
  EXPECT_NO_THROW(verify_mirrored(model.variables()));
}

TEST_P(AddedLossesOn, AreReadByACustomLoop) {
  Model by_fit = coder(strategy_);
  Model by_loop = coder(strategy_);
  by_fit.fit(coder_data());
  for (const DistributedBatch& batch : strategy_.distribute(coder_data()).epoch())
    strategy_.run(
        [&](const Batch& local) {
          GradientTape tape;
          const AddedLosses added;
          const Tensor y_pred = by_loop(local.x(), Mode::train);
          Tensor loss = sum(MeanSquaredError()(local.y(), y_pred)) / static_cast<double>(batch.global_size());
          if (const Tensor share = added.share(local.size(), batch.global_size()); share.defined()) loss = loss + share;
          by_loop.optimizer().minimize(tape, loss, by_loop.trainable_variables());
        },
        batch);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(by_loop.get_weights()[i].to_vector<float>(), by_fit.get_weights()[i].to_vector<float>());
}

TEST_P(AddedLossesOn, AddUpWithRegularizers) {
  const Batch one{{random_tensor({1, 3}, 1)}, {random_tensor({1, 2}, 2)}};  // other replicas get no row
  Model plain = coder(strategy_);
  Model penalized = coder(strategy_, L2(0.5));
  const double penalty = L2(0.5)(penalized.get_weights()[0]).item<float>();
  const double loss = plain.test_on_batch(one).at("loss") + penalty;
  EXPECT_NEAR(penalized.test_on_batch(one).at("loss"), loss, tolerance(DType::f32, 16, loss));
  EXPECT_NEAR(penalized.train_on_batch(one).at("loss"), loss, tolerance(DType::f32, 16, loss));
}

TEST_P(AddedLossesOn, CanBeTheOnlyLossOfAModel) {
  Model model = coder(strategy_);
  model.compile(SGD({.learning_rate = 0.25}));
  const Dataset data = Dataset::from_tensors(random_tensor({coder_rows, 3}, 1)).batch(5);  // no targets
  const std::vector<Tensor> before = model.get_weights();
  Tensor kernel = before[0];
  double total = 0;
  for (const Batch& batch : data.epoch()) {
    GradientTape tape;
    tape.watch(kernel);
    const Tensor loss = divergence(dense(batch.x(), kernel, {}));
    total += static_cast<double>(loss.item<float>()) * static_cast<double>(batch.size());
    kernel = kernel - tape.gradient(loss, std::array{kernel})[0] * 0.25;
  }
  EXPECT_NEAR(model.fit(data).values.at("loss")[0], total / coder_rows,
              tolerance(DType::f32, coder_rows, total / coder_rows));
  expect_close(model.variables()[0].value(), kernel.to_vector<double>(), 3 * coder_rows);
  expect_same_bits(model.variables()[1].value(), before[1]);  // no loss depends on it
  EXPECT_NO_THROW(verify_mirrored(model.variables()));
  EXPECT_LT(model.evaluate(data).at("loss"), total / coder_rows);
}

INSTANTIATE_TEST_SUITE_P(Replicas, AddedLossesOn, testing::Values(1, 2, 3, 5));

TEST(AddedLosses, AreOfEveryCallInTheInnermostCollection) {
  const auto layer = std::make_shared<DivergenceImpl>();
  const Symbol input = Input({4});
  const Model twice(input, Layer(layer)(Layer(layer)(input)));
  const Tensor x = random_tensor({6, 4}, 3);
  const AddedLosses outer;
  {
    const AddedLosses inner;
    twice(x);
    EXPECT_FLOAT_EQ(inner.sum().item<float>(), 2 * divergence(x).item<float>());
    EXPECT_FLOAT_EQ(inner.share(6, 24).item<float>(), divergence(x).item<float>() / 2);
    EXPECT_FALSE(inner.share(0, 24).defined());
  }
  EXPECT_FALSE(outer.sum().defined());
}

/// Adds one value for each example.
class VectorLossImpl : public DivergenceImpl {
 public:
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    add_loss(sum(inputs[0], {1}));
    return inputs[0];
  }
};

TEST(AddedLosses, AreScalars) {
  const Model model = Sequential({4}, {Layer(std::make_shared<VectorLossImpl>())});
  EXPECT_ERROR(InvalidArgument, "layer 'divergence': add_loss takes a scalar of floating-point numbers, got",
               model(Tensor::zeros({6, 4})));
}

}  // namespace
}  // namespace lockstep::test
