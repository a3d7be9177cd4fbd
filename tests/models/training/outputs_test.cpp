#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/tolerance.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/runtime/autograd/tape.h>

// Models with several outputs.

namespace lockstep {
namespace {

using test::SmallProblem;
using testing::ElementsAre;
using testing::Key;
using testing::UnorderedElementsAre;

const auto crossentropy = SparseCategoricalCrossentropy{{.from_logits = true}};
constexpr double length_weight = 0.25;

/// Predicts a point's label and length from one hidden layer: outputs "label" (3) and "length" (1).
Model two_outputs(const Strategy& strategy) {
  const auto inside = strategy.scope();
  const Symbol input = Input({8});
  const Symbol hidden = Dense({.units = 16, .activation = Activation::relu})(input);
  const Symbol label = Dense({.units = 3, .name = "label"})(hidden);
  return Model({input}, {label, Dense({.units = 1, .name = "length"})(hidden)}, {.seed = 5});
}

std::vector<OutputTraining> both_losses() {
  return {
      {.loss = crossentropy, .metrics = {Accuracy()}},
      {.loss = MeanSquaredError(), .loss_weight = length_weight, .metrics = {MeanMetricWrapper(MeanAbsoluteError())}}};
}

struct Problem : SmallProblem {
  explicit Problem(std::int64_t examples) : SmallProblem(examples), length(Tensor::zeros({examples, 1})) {
    for (std::int64_t i = 0; i < examples; ++i)
      for (int axis = 0; axis < 8; ++axis) length.data<float>()[i] += std::abs(x.data<float>()[8 * i + axis]);
  }
  Dataset dataset() const { return Dataset::from_tensors({{x}, {y, length}}); }

  Tensor length;
};

/// The result of two epochs over `batches` in a custom loop on one device.
std::vector<std::vector<double>> weights_by_hand(const Dataset& batches) {
  const Model model = two_outputs(get_strategy());
  const SGD optimizer({.learning_rate = 0.1});
  for (int epoch = 0; epoch < 2; ++epoch) {
    DatasetIterator pass = batches.epoch();
    for (const Batch& batch : pass) {
      GradientTape tape;
      const std::vector<Tensor> outputs = model.run(batch.inputs, Mode::train);
      const Tensor length_loss = sum(MeanSquaredError()(batch.targets.at(1), outputs[1]));
      const Tensor loss = sum(crossentropy(batch.y(), outputs[0])) + length_loss * length_weight;
      optimizer.minimize(tape, loss / static_cast<double>(batch.size()), model.trainable_variables());
    }
  }
  return test::weights_of(model);
}

class OutputsOn : public testing::TestWithParam<int> {
 protected:
  Model model_ = two_outputs(test::mirrored(GetParam()));
  const Problem problem_{23};
  const Dataset data_ = problem_.dataset().batch(8);  // the last batch has 7 rows
};

TEST_P(OutputsOn, AreTrainedTogetherAsByHand) {
  model_.compile(SGD({.learning_rate = 0.1}), both_losses());
  const History history = model_.fit(data_, {.epochs = 2});
  const auto expected = weights_by_hand(data_);
  const auto weights = test::weights_of(model_);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].size(); ++k)
      EXPECT_NEAR(weights[i][k], expected[i][k], test::tolerance(DType::f32, 64, 1)) << i << ": " << k;
  EXPECT_LT(history.values.at("label_loss").back(), history.values.at("label_loss").front());
  EXPECT_LT(history.values.at("length_loss").back(), history.values.at("length_loss").front());
}

TEST_P(OutputsOn, AreEvaluatedEachAndTogether) {
  model_.compile(SGD(), both_losses());
  const Logs logs = model_.evaluate(data_);
  EXPECT_THAT(logs, UnorderedElementsAre(Key("loss"), Key("label_loss"), Key("label_accuracy"), Key("length_loss"),
                                         Key("length_mean_absolute_error")));
  const std::vector<Tensor> outputs = model_.run({problem_.x});
  const double label_loss = sum(crossentropy(problem_.y, outputs[0])).item<float>() / 23;
  const double length_loss = sum(MeanSquaredError()(problem_.length, outputs[1])).item<float>() / 23;
  EXPECT_NEAR(logs.at("label_loss"), label_loss, test::tolerance(DType::f32, 23, label_loss));
  EXPECT_NEAR(logs.at("length_loss"), length_loss, test::tolerance(DType::f32, 23, length_loss));
  EXPECT_DOUBLE_EQ(logs.at("loss"), logs.at("label_loss") + length_weight * logs.at("length_loss"));
}

TEST_P(OutputsOn, ArePredictedInTheirOrder) {
  const std::vector<Tensor> expected = model_.run({problem_.x});
  const std::vector<Tensor> outputs = model_.predict_all(data_);
  ASSERT_EQ(outputs.size(), 2U);
  for (std::size_t i = 0; i < outputs.size(); ++i) test::expect_close(outputs[i], expected[i].to_vector<double>(), 16);
  EXPECT_ERROR(LogicError, "use predict_all()", model_.predict(data_));
}

TEST_P(OutputsOn, OneWithoutALossIsMeasuredOnly) {
  model_.compile(SGD({.learning_rate = 0.1}),
                 {{.loss = crossentropy}, {.metrics = {MeanMetricWrapper(MeanSquaredError())}}});
  const auto before = test::weights_of(model_);
  const History history = model_.fit(data_);
  const auto after = test::weights_of(model_);
  EXPECT_NE(after[2], before[2]);  // the kernel of "label"
  EXPECT_EQ(after[4], before[4]);  // that of "length"
  EXPECT_GT(history.values.at("length_mean_squared_error").at(0), 0);
  EXPECT_EQ(history.values.count("label_loss"), 0U) << "as in Keras 3, an only loss is the model's";
  EXPECT_EQ(history.values.count("length_loss"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Replicas, OutputsOn, testing::ValuesIn(test::replica_counts));

TEST(Outputs, CountWithTheSampleWeights) {
  const Problem problem(6);
  Model model = two_outputs(test::mirrored(2));
  model.compile(SGD(), both_losses());
  const Logs first_half = model.evaluate(problem.dataset().take(3).batch(3));
  const Tensor weight = Tensor::from(std::vector<float>{2, 2, 2, 0, 0, 0}, {6});
  const auto weighted = Dataset::from_tensors({{problem.x}, {problem.y, problem.length}, {weight}});
  const Logs logs = model.evaluate(weighted.batch(6));
  for (const char* name : {"loss", "label_loss", "length_loss"})
    EXPECT_NEAR(logs.at(name), first_half.at(name), test::tolerance(DType::f32, 6, logs.at(name))) << name;
}

TEST(Outputs, CountWithTheirOwnSampleWeights) {
  const Problem problem(6);
  Model model = two_outputs(test::mirrored(2));
  model.compile(SGD(), {{.loss = crossentropy, .weighted_metrics = {Accuracy()}}, {.loss = MeanSquaredError()}});
  const Tensor weight = Tensor::from(std::vector<float>{2, 2, 2, 0, 0, 0}, {6});
  const auto logs_with = [&](const std::vector<Tensor>& weights) {
    const Batch rows{{problem.x}, {problem.y, problem.length}, weights};
    return model.evaluate(Dataset::from_tensors(rows).batch(6));
  };
  const Logs all = logs_with({});
  const Logs both = logs_with({weight});
  const Logs first = logs_with({weight, Tensor::full({6}, 1)});
  for (const char* name : {"label_loss", "label_accuracy"}) EXPECT_EQ(first.at(name), both.at(name)) << name;
  EXPECT_EQ(first.at("length_loss"), all.at("length_loss"));
  EXPECT_NE(first.at("length_loss"), both.at("length_loss"));
  EXPECT_ERROR(InvalidArgument, "one sample weight of an example, or one for each output, the data set has 3",
               logs_with({weight, weight, weight}));
}

TEST(Outputs, OneLossIsForAll) {
  const Symbol input = Input({8});
  const Dense twice({.units = 1, .name = "twice"});
  Model model({input}, {twice(input), twice(input)}, {.seed = 1});
  model.compile(SGD(), MeanSquaredError(), {MeanMetricWrapper(MeanAbsoluteError())});
  std::vector<std::string> names;
  for (const Metric& metric : model.metrics()) names.push_back(metric.name());
  EXPECT_THAT(names, ElementsAre("twice_mean_absolute_error", "twice_1_mean_absolute_error"));
  const Tensor x = test::random_tensor({4, 8}, 1);
  const Tensor y = Tensor::zeros({4, 1});
  const Logs logs = model.evaluate(Dataset::from_tensors({{x}, {y, y}}).batch(4));
  EXPECT_EQ(logs.at("twice_loss"), logs.at("twice_1_loss"));
  EXPECT_EQ(logs.at("loss"), 2 * logs.at("twice_loss"));
}

TEST(Outputs, RefuseWhatDoesNotFitThem) {
  const Problem problem(6);
  Model model = two_outputs(test::mirrored(2));
  EXPECT_ERROR(InvalidArgument, "entries for 1 output(s), the model has 2",
               model.compile(SGD(), {{.loss = crossentropy}}));
  EXPECT_ERROR(InvalidArgument, "loss_weight must be a finite number",
               model.compile(SGD(), {{.loss = crossentropy, .loss_weight = NAN}, {}}));
  const Symbol input = Input({8});
  Model val({input}, {Dense({.units = 3, .name = "val"})(input), Dense({.units = 1, .name = "length"})(input)});
  EXPECT_ERROR(InvalidArgument, "a value named 'val_loss', the name under which validation logs 'loss'",
               val.compile(SGD(), both_losses()));
  model.compile(SGD(), both_losses());
  const Dataset one_target = problem.SmallProblem::dataset().batch(6);
  EXPECT_ERROR(InvalidArgument, "2 output(s) needs as many targets, the data set has 1", model.fit(one_target));
  EXPECT_ERROR(InvalidArgument, "2 output(s) needs as many targets", model.evaluate(one_target));
  EXPECT_ERROR(InvalidArgument, "use sample weights",
               model.fit(problem.dataset().batch(6), {.class_weight = {{0, 2.0}}}));
}

}  // namespace
}  // namespace lockstep
