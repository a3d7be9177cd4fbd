#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/training/sequential.h>

namespace lockstep {
namespace {

using test::small_model;
using test::SmallProblem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class EvaluateOn : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  Model model_ = small_model(test::mirrored(replicas_));
  const SmallProblem problem_{23};

  /// Mean loss and accuracy, computed from the outputs for all examples at once.
  std::pair<double, double> reference() {
    const std::vector<double> logits = model_(problem_.x).to_vector<double>();
    double loss = 0;
    double correct = 0;
    for (std::int64_t i = 0; i < 23; ++i) {
      const double* row = logits.data() + 3 * i;
      const std::int64_t label = problem_.y.span<std::int64_t>()[i];
      loss += std::log(std::exp(row[0]) + std::exp(row[1]) + std::exp(row[2])) - row[label];
      correct += std::max_element(row, row + 3) - row == label ? 1 : 0;
    }
    return {loss / 23, correct / 23};
  }
};

TEST_P(EvaluateOn, WeightsExamplesAlikeHoweverTheyAreBatched) {
  const auto [loss, accuracy] = reference();
  for (const std::int64_t batch : {1, 5, 7, 23, 100}) {
    const auto values = model_.evaluate(problem_.dataset().batch(batch));
    EXPECT_NEAR(values.at("loss"), loss, test::tolerance(DType::f32, 23, loss)) << batch;
    EXPECT_DOUBLE_EQ(values.at("accuracy"), accuracy) << batch;
    EXPECT_EQ(values.size(), 2U);
  }
}

// semantics 8.4: predict concatenates replicas in order
TEST_P(EvaluateOn, PredictKeepsTheOrderForAnyBatchSize) {
  const std::vector<double> expected = model_(problem_.x).to_vector<double>();
  for (const std::int64_t batch : {1, 2, 5, 7, 23, 100}) {
    const Tensor outputs = model_.predict(problem_.dataset().batch(batch));
    ASSERT_EQ(outputs.shape(), (Shape{23, 3}));
    test::expect_close(outputs, expected, 16);
  }
}

TEST_P(EvaluateOn, PredictionsHaveMemoryOfTheirOwn) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  const Symbol input = strategy.scope([] { return Input({2, 4}); });
  const Model model = strategy.scope([&] { return Model(input, Flatten()(input)); });
  const Tensor x = test::random_tensor({6, 2, 4}, 1);
  const std::vector<float> before = x.to_vector<float>();
  for (const std::int64_t batch_size : {2, 6}) {
    const Tensor outputs = model.predict(x, {.batch_size = batch_size});
    EXPECT_EQ(outputs.to_vector<float>(), before);
    for (float& value : outputs.span<float>()) value = 0;
  }
  model.predict_on_batch(x).span<float>()[0] = 0;
  EXPECT_EQ(x.to_vector<float>(), before);
}

TEST_P(EvaluateOn, TakesTensors) {
  const Dataset data = problem_.dataset().batch(32);
  EXPECT_EQ(model_.evaluate(problem_.x, problem_.y), model_.evaluate(data));
  EXPECT_EQ(model_.evaluate({{problem_.x}, {problem_.y}}, {.batch_size = 5, .steps = 2}),
            model_.evaluate(problem_.dataset().take(10).batch(5)));
  test::expect_same_bits(model_.predict(problem_.x), model_.predict(data));
  test::expect_same_bits(model_.predict({problem_.x}, {.batch_size = 4, .steps = 3}),
                         model_.predict(problem_.dataset().batch(4).take(3)));
  test::expect_same_bits(model_.predict_all({problem_.x}).front(), model_.predict(data));
}

TEST_P(EvaluateOn, ReadsAsManyBatchesAsStepsSay) {
  const Dataset data = problem_.dataset().batch(5);
  EXPECT_EQ(model_.evaluate(data.repeat(), {.steps = 3}), model_.evaluate(data.take(3)));
  EXPECT_EQ(model_.predict(data.repeat(), {.steps = 7}).shape(), (Shape{33, 3})) << "5 batches, then 2 again";
  const Dataset kept =
      problem_.dataset().shuffle({.seed = 1, .fixed_parts = true}).filter([](const Example&) { return true; });
  EXPECT_EQ(model_.evaluate(kept.batch(5), {.steps = 2}), model_.evaluate(kept.repeat(1).take(10).batch(5)))
      << "steps limit a pass where take() is refused";
  testing::internal::CaptureStderr();
  EXPECT_EQ(model_.evaluate(data, {.steps = 9}), model_.evaluate(data));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the data ended after 5 of 9 steps"));
}

TEST_P(EvaluateOn, PredictNeedsNoTargets) {
  const Tensor outputs = model_.predict(Dataset::from_tensors(problem_.x).batch(4));
  test::expect_same_bits(outputs, model_.predict(problem_.dataset().batch(4)));
}

/// A model with batch normalization, whose statistics are separate on each replica.
Model normalizing_model(int replicas) {
  const MirroredStrategy strategy = test::mirrored(replicas);
  const auto scope = strategy.scope();
  const Symbol input = Input({8});
  Model model(input, Dense({.units = 3})(BatchNormalization({.momentum = 0.5})(input)), {.seed = 5});
  model.compile(SGD({.learning_rate = 0.1}), SparseCategoricalCrossentropy{{.from_logits = true}}, {Accuracy()});
  return model;
}

TEST_P(EvaluateOn, TakesTheMeanOfTheReplicasStatisticsAsFilesDo) {
  Model model = normalizing_model(replicas_);
  const Dataset data = problem_.dataset().batch(7);
  const History history = model.fit(data, {.epochs = 2, .validation = data});
  std::vector<std::vector<float>> copies;
  for (const Variable& variable : model.variables())
    for (const Tensor& copy : variable.state().copies()) copies.push_back(copy.to_vector<float>());
  Model saved = normalizing_model(1);
  saved.set_weights(model.get_weights());
  const double loss = saved.evaluate(data).at("loss");
  EXPECT_NEAR(model.evaluate(data).at("loss"), loss, 1e-5 * loss);
  EXPECT_NEAR(history.values.at("val_loss").back(), loss, 1e-5 * loss);
  test::expect_close(model.predict(data), saved.predict(data).to_vector<double>(), 16);
  std::vector<std::vector<float>> after;
  for (const Variable& variable : model.variables())
    for (const Tensor& copy : variable.state().copies()) after.push_back(copy.to_vector<float>());
  EXPECT_EQ(after, copies) << "training continues with each replica's own";
}

TEST_P(EvaluateOn, LeavesTheWeightsAlone) {
  const auto before = test::weights_of(model_);
  model_.evaluate(problem_.dataset().batch(5));
  model_.predict(problem_.dataset().batch(5));
  EXPECT_EQ(test::weights_of(model_), before);
}

INSTANTIATE_TEST_SUITE_P(Replicas, EvaluateOn, testing::ValuesIn(test::replica_counts));

/// Loss of one example at the logits of `weights`, and the bias after a step of gradient descent with rate 1.
std::pair<double, float> step_from(const std::vector<Layer>& layers, const Loss& loss,
                                   const std::vector<float>& weights, const Tensor& y) {
  const auto units = static_cast<std::int64_t>(weights.size());
  Model model = Sequential({1, 1, 1}, layers);
  model.compile(SGD({.learning_rate = 1}), loss);
  const Tensor kernel = Tensor::from(weights, {units});
  model.set_weights({kernel.view(model.variables()[0].shape()), Tensor::zeros({units})});
  const Dataset data = Dataset::from_tensors(Tensor::full({1, 1, 1, 1}, 1), y).batch(1);
  const double before = model.evaluate(data).at("loss");
  model.fit(data);
  return {before, model.get_weights()[1].to_vector<float>()[0]};
}

// TensorFlow's Keras computes the loss from the logits of a softmax or sigmoid: 40, with a gradient of 1.
TEST(Evaluate, LossesOfSaturatedOutputsAreThoseOfTheirLogits) {
  const auto dense = [](std::int64_t units, Activation activation) {
    return Dense({.units = units, .activation = activation});
  };
  const Tensor label = Tensor::from(std::vector<std::int32_t>{0}, {1});
  const Tensor one_hot = Tensor::from(std::vector<float>{1, 0}, {1, 2});
  const auto expected = testing::Pair(testing::DoubleNear(40, 1e-5), testing::FloatNear(1, 1e-5F));
  for (const std::vector<Layer>& layers :
       {std::vector<Layer>{Flatten(), dense(2, Activation::softmax)},
        std::vector<Layer>{Flatten(), dense(2, Activation::linear), Softmax()},
        std::vector<Layer>{Flatten(), dense(2, Activation::linear), ActivationLayer(Activation::softmax)},
        std::vector<Layer>{Flatten(), dense(2, Activation::softmax), ActivationLayer(Activation::linear),
                           Dropout({.rate = 0})}}) {
    EXPECT_THAT(step_from(layers, SparseCategoricalCrossentropy(), {-20, 20}, label), expected);
    EXPECT_THAT(step_from(layers, CategoricalCrossentropy(), {-20, 20}, one_hot), expected);
  }
  const auto conv = [](Activation activation) {
    return Conv2D({.filters = 1, .kernel_size = 1, .activation = activation});
  };
  for (const std::vector<Layer>& layers :
       {std::vector<Layer>{Flatten(), dense(1, Activation::sigmoid)}, std::vector<Layer>{conv(Activation::sigmoid)},
        std::vector<Layer>{conv(Activation::linear), ActivationLayer(Activation::sigmoid)}})
    EXPECT_THAT(
        step_from(layers, BinaryCrossentropy(), {-40},
                  Tensor::full({1, 1, 1, 1}, 1)
                      .view(layers.size() == 2 && layers[1].impl().class_name() == "Dense" ? Shape{1, 1}
                                                                                           : Shape{1, 1, 1, 1})),
        expected);
}

TEST(Evaluate, ShowsItsProgressUnlessTold) {
  Model model = small_model(test::mirrored(2));
  const SmallProblem problem(6);
  const auto shown = [](const auto& run) {
    testing::internal::CaptureStderr();
    run();
    return testing::internal::GetCapturedStderr();
  };
  const std::string loss = fmt::format("{:.4f}", model.evaluate(problem.x, problem.y).at("loss"));
  for (const std::string& text : {shown([&] { model.evaluate(problem.x, problem.y, {.batch_size = 4}); }),
                                  shown([&] { model.evaluate(problem.dataset().batch(4)); })})
    EXPECT_THAT(text, testing::MatchesRegex(
                          "evaluate - 0:0[0-9] - [0-9]+ examples/s - accuracy: [01].[0-9]+ - loss: " + loss + "\n"));
  for (const std::string& text : {shown([&] { model.predict({problem.x}, {.batch_size = 4}); }),
                                  shown([&] { model.predict_all(problem.dataset().batch(4)); })})
    EXPECT_THAT(text, testing::MatchesRegex("predict - 0:0[0-9] - [0-9]+ examples/s\n"));
  EXPECT_EQ(shown([&] { EXPECT_THROW(model.evaluate(Dataset::from_tensors(problem.x).batch(4)), InvalidArgument); }),
            "evaluate - stopped after step 0\n");
  EXPECT_EQ(shown([&] {
              model.evaluate(problem.x, problem.y, {.verbose = 0});
              model.predict(problem.x, {.verbose = 0});
              model.train_on_batch({{problem.x}, {problem.y}});
              model.test_on_batch({{problem.x}, {problem.y}});
            }),
            "");
}

TEST(Evaluate, RefusesDataItCannotUse) {
  Model model = small_model(test::mirrored(2));
  const SmallProblem problem(6);
  const Dataset data = problem.dataset().batch(4);
  EXPECT_THAT([&] { model.evaluate(data.take(0)); }, ThrowsMessage<InvalidArgument>(HasSubstr("empty")));
  EXPECT_THAT([&] { model.predict(data.take(0)); }, ThrowsMessage<InvalidArgument>(HasSubstr("empty")));
  EXPECT_THAT([&] { model.predict(data.repeat()); }, ThrowsMessage<InvalidArgument>(HasSubstr("without end")));
  EXPECT_THAT([&] { model.evaluate(Dataset::from_tensors(problem.x).batch(4)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("targets")));
}

}  // namespace
}  // namespace lockstep
