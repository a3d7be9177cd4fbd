#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep {
namespace {

using test::small_model;
using test::SmallProblem;

/// Records the loss of each step.
struct LossRecorder : Callback {
  void on_train_batch_end(Model&, const StepReport& report) override { losses.push_back(report.loss); }
  std::vector<double> losses;
};

class OnBatchOn : public testing::TestWithParam<int> {
 protected:
  const MirroredStrategy strategy_ = test::mirrored(GetParam());
  const SmallProblem problem_{50};
};

// The last batch has 2 rows, so most replicas get none.
TEST_P(OnBatchOn, ATrainingStepHasTheBitsOfAStepOfFit) {
  const Tensor weights = test::random_tensor({50}, 3, 0, 2);
  const ClassWeight class_weight{{0, 2.0}, {2, 0.5}};
  for (const bool weighted : {false, true}) {
    const Dataset data = Dataset::from_tensors(problem_.x, problem_.y, weighted ? weights : Tensor()).batch(16);
    const ClassWeight by_class = weighted ? ClassWeight() : class_weight;
    Model by_fit = small_model(strategy_);
    const auto recorder = std::make_shared<LossRecorder>();
    by_fit.fit(data, {.callbacks = {recorder}, .class_weight = by_class});
    Model by_batch = small_model(strategy_);
    std::vector<double> losses;
    for (const Batch& batch : data.epoch()) losses.push_back(by_batch.train_on_batch(batch, by_class).at("loss"));
    EXPECT_EQ(losses, recorder->losses);
    EXPECT_EQ(test::weights_of(by_batch), test::weights_of(by_fit));
    EXPECT_NO_THROW(verify_mirrored(by_batch.variables()));
  }
}

TEST_P(OnBatchOn, TheResultsAreThoseOfTheBatchBeforeTheStep) {
  Model model = small_model(strategy_);
  for (int step = 0; step < 3; ++step) {
    const Logs before = model.test_on_batch(problem_.x, problem_.y);
    const Logs logs = model.train_on_batch(problem_.x, problem_.y);
    EXPECT_NEAR(logs.at("loss"), before.at("loss"), test::tolerance(DType::f32, 50, before.at("loss")));
    EXPECT_EQ(logs.at("accuracy"), before.at("accuracy")) << "of this batch, not a mean over the calls";
    EXPECT_EQ(logs.size(), 2U);
    EXPECT_LT(model.test_on_batch(problem_.x, problem_.y).at("loss"), before.at("loss"));
  }
}

TEST_P(OnBatchOn, TestsAndPredictsAsEvaluateAndPredictDo) {
  Model model = small_model(strategy_);
  const Dataset one = problem_.dataset().batch(50);
  EXPECT_EQ(model.test_on_batch(problem_.x, problem_.y), model.evaluate(one));
  const Tensor outputs = model.predict_on_batch(problem_.x);
  EXPECT_EQ(outputs.shape(), (Shape{50, 3}));
  test::expect_close(outputs, model(problem_.x).to_vector<double>(), 16);
  EXPECT_EQ(test::weights_of(model), test::weights_of(small_model(strategy_)));
}

/// A model of two inputs and two outputs with a penalty.
Model branches(const Strategy& strategy) {
  const auto inside = strategy.scope();
  const Symbol a = Input({8});
  const Symbol b = Input({8});
  const Symbol sum = Add()({Dense({.units = 4, .kernel_regularizer = L2(0.1)})(a), Dense({.units = 4})(b)});
  const Symbol labels = Dense({.units = 3, .name = "labels"})(sum);
  const Symbol value = Dense({.units = 1, .name = "value"})(sum);
  Model model({a, b}, {labels, value}, {.seed = 5});
  model.compile(SGD({.learning_rate = 0.2}),
                {{.loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics = {Accuracy()}},
                 {.loss = MeanSquaredError(), .loss_weight = 0.25}});
  return model;
}

TEST_P(OnBatchOn, TakesSeveralInputsAndOutputs) {
  const Tensor value = test::random_tensor({50, 1}, 7);
  const Batch batch{{problem_.x, test::random_tensor({50, 8}, 6)}, {problem_.y, value}};
  Model by_fit = branches(strategy_);
  Model by_batch = branches(strategy_);
  const Logs tested = by_batch.test_on_batch(batch);
  const Logs logs = by_batch.train_on_batch(batch);
  const History history = by_fit.fit(Dataset::from_tensors(batch).batch(50));
  EXPECT_EQ(logs.size(), 4U);
  EXPECT_TRUE(logs.contains("labels_accuracy") && logs.contains("value_loss"));
  for (const auto& [name, result] : logs) {
    EXPECT_EQ(result, history.values.at(name).front()) << name;
    EXPECT_NEAR(result, tested.at(name), test::tolerance(DType::f32, 50, result)) << name;
  }
  EXPECT_EQ(test::weights_of(by_batch), test::weights_of(by_fit));
}

TEST_P(OnBatchOn, PredictsAllOutputs) {
  const Model model = branches(strategy_);
  const std::vector<Tensor> inputs{problem_.x, test::random_tensor({50, 8}, 6)};
  const std::vector<Tensor> outputs = model.predict_all_on_batch(inputs);
  const std::vector<Tensor> expected = model.predict_all(inputs, {.batch_size = 50});
  ASSERT_EQ(outputs.size(), 2U);
  for (std::size_t i = 0; i < outputs.size(); ++i) test::expect_same_bits(outputs[i], expected[i]);
  EXPECT_ERROR(LogicError, "use predict_all_on_batch()", model.predict_on_batch(inputs));
}

TEST_P(OnBatchOn, TakesSampleWeightsAsAColumn) {
  const Tensor weights = test::random_tensor({50}, 3, 0, 2);
  Model flat = small_model(strategy_);
  Model column = small_model(strategy_);
  for (Model* const model : {&flat, &column})
    model->compile(SGD({.learning_rate = 0.2}), SparseCategoricalCrossentropy({.from_logits = true}), {}, {Accuracy()});
  const Tensor as_column = weights.view({50, 1});
  EXPECT_EQ(column.train_on_batch({{problem_.x}, {problem_.y}, {as_column}}),
            flat.train_on_batch({{problem_.x}, {problem_.y}, {weights}}));
  EXPECT_EQ(column.evaluate({{problem_.x}, {problem_.y}, {as_column}}, {.batch_size = 7}),
            flat.evaluate({{problem_.x}, {problem_.y}, {weights}}, {.batch_size = 7}));
  EXPECT_EQ(test::weights_of(column), test::weights_of(flat));
}

TEST_P(OnBatchOn, TakesStridedTensorsOfADeviceAsFitDoes) {
  const auto columns = [&] {
    const DeviceScope device(strategy_.devices().front());
    return dense_copy(transpose(problem_.x));
  };
  const Tensor x = columns().transposed_view();
  const Tensor y = stack(std::vector{problem_.y, problem_.y}, 1).slice_view(1, 0, 1);
  const Tensor weights = test::random_tensor({50, 2}, 3, 0, 2).slice_view(1, 1, 2);
  for (const Tensor& tensor : {x, y, weights}) ASSERT_FALSE(tensor.is_dense());
  const Batch strided{{x}, {y}, {weights}};
  const Batch dense{{problem_.x}, {problem_.y}, {dense_copy(weights)}};
  Model model = small_model(strategy_);
  Model expected = small_model(strategy_);
  EXPECT_EQ(model.train_on_batch(strided), expected.train_on_batch(dense));
  EXPECT_EQ(model.test_on_batch(strided), expected.test_on_batch(dense));
  test::expect_same_bits(model.predict_on_batch(x), expected.predict_on_batch(dense.x()));
  const FitOptions options{.batch_size = 16, .validation_split = 0.2};
  EXPECT_EQ(model.fit(strided, options).values.at("val_loss"), expected.fit(dense, options).values.at("val_loss"));
  EXPECT_EQ(model.evaluate(strided), expected.evaluate(dense));
  test::expect_same_bits(model.predict(x), expected.predict(dense.x()));
  EXPECT_EQ(test::weights_of(model), test::weights_of(expected));
}

INSTANTIATE_TEST_SUITE_P(Replicas, OnBatchOn, testing::ValuesIn(test::replica_counts));

TEST(OnBatch, AsksTheSystemForNoMemoryAfterWarmUp) {
  Model model = small_model(test::mirrored(2));
  const SmallProblem problem(16);
  const auto allocations = [&] {
    std::uint64_t sum = 0;
    for (const LogicalDevice& device : model.strategy().devices()) sum += allocator(device).stats().system_allocations;
    return sum;
  };
  for (int step = 0; step < 3; ++step) model.train_on_batch(problem.x, problem.y);
  const std::uint64_t warm = allocations();
  for (int step = 0; step < 6; ++step) model.train_on_batch(problem.x, problem.y);
  EXPECT_GT(warm, 0U);
  EXPECT_EQ(allocations(), warm);
}

TEST(OnBatch, WarnsOnceAlsoIfSeveralStepsMakeAnUpdate) {
  const Symbol x = Input({8});
  Model model(x, Dense({.units = 3, .activation = Activation::softmax})(x));
  const SGD optimizer({.learning_rate = 0.2}, {.gradient_accumulation_steps = 3});
  model.compile(optimizer, SparseCategoricalCrossentropy({.from_logits = true}));
  const SmallProblem problem(6);
  testing::internal::CaptureStderr();
  for (int step = 0; step < 3; ++step) model.train_on_batch(problem.x, problem.y);
  const std::string warnings = testing::internal::GetCapturedStderr();
  const std::size_t first = warnings.find("takes logits");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(warnings.find("takes logits", first + 1), std::string::npos);
}

TEST(OnBatch, AnErrorLeavesTheModelAsItWas) {
  Model model = small_model(test::mirrored(2));
  const SmallProblem problem(6);
  const auto before = test::weights_of(model);
  EXPECT_ERROR(InvalidArgument, "label 3", model.train_on_batch(problem.x, Tensor::full({6}, 3, DType::i64)));
  EXPECT_ERROR(InvalidArgument, "no rows", model.train_on_batch(Tensor::zeros({0, 8}), Tensor::zeros({0}, DType::i64)));
  EXPECT_EQ(test::weights_of(model), before);
  EXPECT_GT(model.train_on_batch(problem.x, problem.y).at("loss"), 0);
}

}  // namespace
}  // namespace lockstep
