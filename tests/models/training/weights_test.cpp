#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/models/metrics/metric.h>

// Sample and class weights in fit and evaluate.

namespace lockstep {
namespace {

using test::small_model;
using test::SmallProblem;

constexpr std::int64_t examples = 23;

Tensor some_weights() { return test::random_tensor({examples}, 3, 0, 2); }

/// Accuracy under another name, so that a model can have both.
Metric weighted_accuracy() {
  const Accuracy accuracy;
  return {"weighted_accuracy",
          {.update =
               [accuracy](const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights) {
                 const std::vector<float> values(weights.begin(), weights.end());
                 return accuracy.update(y_true, y_pred, Tensor::from(values, {y_pred.dim(0)}));
               },
           .result = [accuracy](const Metric::Sums& sums) { return accuracy.result(sums); }}};
}

class WeightsOn : public testing::TestWithParam<int> {
 protected:
  const MirroredStrategy strategy_ = test::mirrored(GetParam());
  const SmallProblem problem_{examples};

  Model compiled_model(const Strategy& strategy) const {
    Model model = small_model(strategy);
    model.compile(SGD({.learning_rate = 0.2}), SparseCategoricalCrossentropy{{.from_logits = true}}, {Accuracy()},
                  {weighted_accuracy()});
    return model;
  }
};

// Keras' sum_over_batch_size: the sum of weight * loss over the number of examples, not over the weights.
TEST_P(WeightsOn, CountInTheLossAndTheWeightedMetrics) {
  Model model = compiled_model(strategy_);
  const Tensor weight = some_weights();
  const std::vector<double> w = weight.to_vector<double>();
  const std::vector<double> logits = model(problem_.x).to_vector<double>();
  double loss = 0;
  double correct = 0;
  double weighted_correct = 0;
  double all = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    const double* row = logits.data() + 3 * i;
    const std::int64_t label = problem_.y.span<std::int64_t>()[i];
    loss += w[i] * (std::log(std::exp(row[0]) + std::exp(row[1]) + std::exp(row[2])) - row[label]);
    const bool right = std::max_element(row, row + 3) - row == label;
    correct += right ? 1 : 0;
    weighted_correct += right ? w[i] : 0;
    all += w[i];
  }
  const Dataset data = Dataset::from_tensors(problem_.x, problem_.y, weight);
  for (const std::int64_t batch : {1, 5, 23}) {
    const Logs logs = model.evaluate(data.batch(batch));
    EXPECT_NEAR(logs.at("loss"), loss / examples, test::tolerance(DType::f32, examples, loss / examples));
    EXPECT_DOUBLE_EQ(logs.at("accuracy"), correct / examples);
    EXPECT_DOUBLE_EQ(logs.at("weighted_accuracy"), weighted_correct / all);
  }
}

// Batches of 6, the last of 5: uneven parts, and none for some of eight replicas. Gradients are sums over a batch's
// rows in another grouping, added up in 12 steps.
TEST_P(WeightsOn, TrainTheSameModelOnAnyNumberOfReplicas) {
  Model alone = compiled_model(test::mirrored(1));
  Model together = compiled_model(strategy_);
  const Dataset data = Dataset::from_tensors(problem_.x, problem_.y, some_weights()).batch(6);
  const History one = alone.fit(data, {.epochs = 3});
  const History many = together.fit(data, {.epochs = 3});
  const auto expected = test::weights_of(alone);
  for (std::size_t i = 0; i < expected.size(); ++i)
    test::expect_close(together.variables()[i].value(), expected[i], 6 * 12);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    const double loss = one.values.at("loss")[epoch];
    EXPECT_NEAR(many.values.at("loss")[epoch], loss, test::tolerance(DType::f32, 6 * 12, loss));
    EXPECT_DOUBLE_EQ(many.values.at("weighted_accuracy")[epoch], one.values.at("weighted_accuracy")[epoch]);
  }
}

TEST_P(WeightsOn, OfZeroLeaveAnExampleOut) {
  Model model = compiled_model(strategy_);
  const auto before = test::weights_of(model);
  const Dataset data = Dataset::from_tensors(problem_.x, problem_.y, Tensor::zeros({examples})).batch(6);
  const History history = model.fit(data);
  EXPECT_EQ(history.values.at("loss").back(), 0);
  EXPECT_EQ(history.values.at("weighted_accuracy").back(), 0);
  EXPECT_GT(history.values.at("accuracy").back(), 0);
  EXPECT_EQ(test::weights_of(model), before);
}

TEST_P(WeightsOn, OfClassesAreThoseOfTheirExamples) {
  const ClassWeight class_weight{{0, 0.25}, {2, 3}};
  std::vector<float> weights;
  for (const std::int64_t label : problem_.y.span<std::int64_t>())
    weights.push_back(label == 0 ? 0.25F : label == 2 ? 3.0F : 1.0F);
  const Dataset data = problem_.dataset().batch(6);
  Model by_class = compiled_model(strategy_);
  Model by_sample = compiled_model(strategy_);
  const History history = by_class.fit(data, {.epochs = 2, .validation = data, .class_weight = class_weight});
  const Dataset weighted = Dataset::from_tensors(problem_.x, problem_.y, Tensor::from(weights, {examples})).batch(6);
  EXPECT_EQ(by_sample.fit(weighted, {.epochs = 2}).values.at("loss"), history.values.at("loss"));
  EXPECT_EQ(test::weights_of(by_sample), test::weights_of(by_class));
  // As in Keras, class weights are those of the training examples.
  EXPECT_EQ(history.values.at("val_loss").back(), by_class.evaluate(data).at("loss"));
  EXPECT_EQ(history.values.at("val_accuracy"), history.values.at("val_weighted_accuracy"));
}

INSTANTIATE_TEST_SUITE_P(Replicas, WeightsOn, testing::ValuesIn(test::replica_counts));

TEST(Weights, OfClassesAndSamplesAreNotUsedTogether) {
  const SmallProblem problem(8);
  Model model = small_model(test::mirrored(2));
  const Dataset data = Dataset::from_tensors(problem.x, problem.y, Tensor::full({8}, 1)).batch(4);
  EXPECT_ERROR(InvalidArgument, "at the same time", model.fit(data, {.class_weight = {{0, 2}}}));
  EXPECT_EQ(model.fit(data).epoch.size(), 1U);
}

// As in Keras 3.
TEST(Weights, MetricsOfOneNameHaveNamesOfTheirOwn) {
  Model model = small_model(test::mirrored(2));
  const SparseCategoricalCrossentropy loss({.from_logits = true});
  model.compile(SGD(), loss, {Accuracy(), Accuracy()}, {Accuracy(), Accuracy()});
  std::vector<std::string> names;
  for (const auto& [name, value] : model.evaluate(SmallProblem(8).dataset().batch(8))) names.push_back(name);
  EXPECT_THAT(names,
              testing::ElementsAre("accuracy", "accuracy_1", "loss", "weighted_accuracy", "weighted_accuracy_1"));
  EXPECT_ERROR(InvalidArgument, "two values named 'learning_rate'",
               model.compile(SGD(), loss, {Accuracy().with_name("learning_rate")}));
  EXPECT_ERROR(InvalidArgument, "two values named 'loss'", model.compile(SGD(), loss, {Accuracy().with_name("loss")}));
}

}  // namespace
}  // namespace lockstep
