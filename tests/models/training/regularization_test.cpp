#include <array>
#include <cmath>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/activity_regularization.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/regularizers.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>
#include <lockstep/models/training/model_files.h>
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

// As in Keras, the penalty of a layer's result is divided by the number of examples. Replicas with 3, 2 and 2 rows, and
// then with 1, 0 and 0 rows, add up to the global batch's penalty.
TEST(Regularization, OfActivitiesIsAMeanOverTheExamples) {
  const Tensor x = random_tensor({rows, 3}, 1);
  const Tensor y = random_tensor({rows, 2}, 2);
  for (const std::int64_t examples : {rows, std::int64_t{1}}) {
    const Batch batch{{x.slice_view(0, 0, examples)}, {y.slice_view(0, 0, examples)}};
    for (const int replicas : {1, 3}) {
      SCOPED_TRACE(replicas);
      const MirroredStrategy strategy = mirrored(replicas);
      Model model = strategy.scope([] {
        return Sequential({3}, {Dense({.units = 4, .use_bias = false, .activity_regularizer = L1L2(0.1, 0.2)}),
                                Dense({.units = 2, .use_bias = false}), ActivityRegularization({.l1 = 0.3})});
      });
      model.compile(SGD({.learning_rate = 0.5}), MeanSquaredError());
      const std::vector<Tensor> before = model.get_weights();
      GradientTape tape;
      for (const Tensor& kernel : before) tape.watch(kernel);
      const Tensor hidden = dense(batch.x(), before[0], {});
      const Tensor output = dense(hidden, before[1], {});
      const auto examples_as_double = static_cast<double>(examples);
      const Tensor penalty =
          (sum(abs(hidden)) * 0.1 + sum(square(hidden)) * 0.2 + sum(abs(output)) * 0.3) / examples_as_double;
      const Tensor loss = mean(square(output - batch.y())) + penalty;
      const std::vector<Tensor> gradients = tape.gradient(loss, before);

      EXPECT_NEAR(model.test_on_batch(batch).at("loss"), loss.item<float>(), tolerance(DType::f32, rows, 1));
      EXPECT_NEAR(model.train_on_batch(batch).at("loss"), loss.item<float>(), tolerance(DType::f32, rows, 1));
      for (std::size_t i = 0; i < before.size(); ++i)
        expect_close(model.variables()[i].value(), (before[i] - gradients[i] * 0.5).to_vector<double>(), 4 * rows);
    }
  }
}

TEST(Regularization, OfActivitiesCanBeTheOnlyLossWhereReplicasHaveNoRows) {
  const Tensor x = random_tensor({1, 3}, 1);
  const MirroredStrategy strategy = mirrored(3);
  Model model = strategy.scope(
      [] { return Sequential({3}, {Dense({.units = 4, .use_bias = false, .activity_regularizer = L2(0.25)})}); });
  model.compile(SGD({.learning_rate = 0.5}));
  const Tensor kernel = model.get_weights()[0];
  GradientTape tape;
  tape.watch(kernel);
  const Tensor loss = sum(square(dense(x, kernel, {}))) * 0.25;
  const Tensor gradient = tape.gradient(loss, std::vector{kernel})[0];
  EXPECT_NEAR(model.train_on_batch(Batch{{x}}).at("loss"), loss.item<float>(), tolerance(DType::f32, rows, 1));
  expect_close(model.variables()[0].value(), (kernel - gradient * 0.5).to_vector<double>(), rows);
}

TEST(Regularization, OfAttentionCanBeTheOnlyLossWhereReplicasHaveNoRows) {
  const auto loss_over = [](int replicas) {
    const MirroredStrategy strategy = mirrored(replicas);
    Model model = strategy.scope([] {
      const Symbol x = Input({4, 3});
      const MultiHeadAttention attention({.num_heads = 2, .key_dim = 2, .activity_regularizer = L2(0.25)});
      return Model(x, attention(x, x), {.seed = 5});
    });
    model.compile(SGD({.learning_rate = 0.5}));
    return model.train_on_batch(Batch{{random_tensor({1, 4, 3}, 1)}}).at("loss");
  };
  EXPECT_NEAR(loss_over(2), loss_over(1), 1e-6);
  EXPECT_GT(loss_over(1), 0.1);
}

TEST(Regularization, CanBeTheOnlyLossOfAModelInAFile) {
  const Tensor x = random_tensor({rows, 3}, 1);
  Model saved = Sequential({3}, {Dense({.units = 4, .kernel_regularizer = L2(0.5), .activity_regularizer = L1(0.25)})});
  saved.compile(SGD({.learning_rate = 0.5}));
  const TemporaryFolder folder;
  for (const char* const file : {"model.keras", "model.h5"}) {
    saved.save(folder / file);
    Model loaded = load_model(folder / file);
    const History history = loaded.fit(Dataset::from_tensors(x).batch(rows), {.epochs = 2});
    const Tensor kernel = saved.variables()[0].value();
    const double loss = (L2(0.5)(kernel) + L1(0.25)(saved(x)) / rows).item<float>();
    EXPECT_NEAR(history.values.at("loss")[0], loss, tolerance(DType::f32, 32, loss));
    EXPECT_LT(history.values.at("loss")[1], loss);
  }
}

/// The penalties that a call of the model adds to the loss.
double added_by(const Model& model, const Tensor& x) {
  const AddedLosses added;
  (void)model.run({x});
  return added.sum().defined() ? static_cast<double>(added.sum().item<float>()) : 0;
}

TEST(Regularization, OfActivitiesCountsStatesAsResults) {
  const Tensor x = random_tensor({rows, 4, 3}, 1);
  const auto penalty_of = [](const Tensor& result) {
    return static_cast<double>((sum(square(result)) / rows).item<float>());
  };
  const LSTM lstm({.units = 2, .return_sequences = true, .return_state = true, .activity_regularizer = L2(1)});
  const Symbol input = Input({4, 3});
  const std::vector<Symbol> results = lstm.results({input});
  const Model model({input}, results);
  double expected = 0;
  for (const Tensor& result : model.run({x})) expected += penalty_of(result);
  EXPECT_NEAR(added_by(model, x), expected, tolerance(DType::f32, 32, expected));
  const Model without_states({input}, results[0]);  // the states count although nothing reads them
  EXPECT_NEAR(added_by(without_states, x), expected, tolerance(DType::f32, 32, expected));
}

TEST(Regularization, OfActivitiesCountsEachCallOfASharedLayer) {
  const Dense shared({.units = 2, .activity_regularizer = L2(1)});
  const std::vector<Symbol> inputs{Input({3}), Input({3})};
  const Model model(inputs, std::vector<Symbol>{shared(inputs[0]), shared(inputs[1])});
  const std::vector<Tensor> xs{random_tensor({rows, 3}, 1), random_tensor({rows, 3}, 2)};
  double expected = 0;
  for (const Tensor& x : xs) {
    const Tensor result = dense(x, model.variables()[0].value(), {});  // the initial bias is 0
    expected += static_cast<double>((sum(square(result)) / rows).item<float>());
  }
  const AddedLosses added;
  (void)model.run(xs);
  EXPECT_NEAR(added.sum().item<float>(), expected, tolerance(DType::f32, 32, expected));
}

// The results are bf16, and their penalty is a sum in f32: in bf16, it would have an error of about 1 / 256.
TEST(Regularization, OfBfloat16ActivitiesIsComputedInF32) {
  const Tensor x = random_tensor({rows, 3}, 1);
  const Model model = with_dtype_policy(
      "mixed_bfloat16", [] { return Sequential({3}, {Dense({.units = 32, .activity_regularizer = L1L2(1, 1)})}); });
  const Tensor result = model.run({x}).front();
  ASSERT_EQ(result.dtype(), DType::bf16);
  double expected = 0;
  for (const double y : result.to_vector<double>()) expected += (std::abs(y) + y * y) / rows;
  EXPECT_NEAR(added_by(model, x), expected, tolerance(DType::f32, 32 * rows, expected));
}

// Keras' TimeDistributed does not apply the option of its layer; Bidirectional applies it to both directions.
TEST(Regularization, OfActivitiesInsideOtherLayersIsAsInKeras) {
  const Tensor x = random_tensor({rows, 4, 3}, 1);
  const Dense inner({.units = 2, .activity_regularizer = L2(1)});
  EXPECT_EQ(added_by(Sequential({4, 3}, {TimeDistributed(inner)}), x), 0);
  const Model model = Sequential({4, 3}, {Bidirectional(GRU({.units = 2, .activity_regularizer = L2(1)}))});
  const double expected = static_cast<double>((sum(square(model(x))) / rows).item<float>());
  EXPECT_NEAR(added_by(model, x), expected, tolerance(DType::f32, 32, expected));
  const Tensor steps = random_tensor({rows, 5, 4, 3}, 2);  // Keras calls Bidirectional for each of five steps
  const Model by_step =
      Sequential({5, 4, 3}, {TimeDistributed(Bidirectional(GRU({.units = 2, .activity_regularizer = L2(1)})))});
  const double of_steps = static_cast<double>((sum(square(by_step(steps))) / rows).item<float>());
  EXPECT_NEAR(added_by(by_step, steps), of_steps, tolerance(DType::f32, 160, of_steps));
}

// A layer inside a model may get no rows of a batch that has some, e.g. one of several experts.
TEST(Regularization, OfActivitiesOfNoRowsIsZero) {
  const Model model = Sequential({3}, {Dense({.units = 2, .activity_regularizer = L2(1)})});
  EXPECT_EQ(added_by(model, Tensor::zeros({0, 3})), 0);
}

}  // namespace
}  // namespace lockstep::test
