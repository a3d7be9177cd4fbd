#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/training/callback.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/callbacks/learning_rate_scheduler.h>

namespace lockstep {
namespace {

using test::SmallProblem;
using testing::ElementsAre;

/// Records its calls; calls `act`, if given, at the end of every step.
struct Diary : Callback {
  explicit Diary(std::function<void(Model&, const StepReport&)> act = {}) : act_at_step(std::move(act)) {}

  void on_train_begin(Model&) override { lines.push_back("begin"); }
  void on_epoch_begin(Model&, const EpochPlan& plan) override {
    lines.push_back(fmt::format("epoch {} of {}, {} steps", plan.epoch, plan.epochs, plan.steps));
  }
  void on_train_batch_end(Model& model, const StepReport& report) override {
    lines.push_back(fmt::format("step {}", report.step));
    if (act_at_step) act_at_step(model, report);
  }
  void on_epoch_end(Model&, int epoch, const Logs& logs) override {
    lines.push_back(fmt::format("epoch {} done{}", epoch, logs.contains("val_loss") ? " and validated" : ""));
  }
  void on_train_end(Model&) override { lines.push_back("end"); }

  std::function<void(Model&, const StepReport&)> act_at_step;
  std::vector<std::string> lines;
};

class Callbacks : public testing::Test {
 protected:
  Model model_ = test::small_model(test::mirrored(2));
  const Dataset data_ = SmallProblem(8).dataset().batch(4);
};

// semantics 8.4: summaries once. TF case 23: _test_summary_for_replica_zero_only. There is no summary writer here:
// training reports through callbacks outside the replicas, so that two replicas do not both write a line.
TEST_F(Callbacks, AreToldOfEverythingInOrder) {
  const auto diary = std::make_shared<Diary>();
  model_.fit(data_, {.epochs = 2, .validation = data_, .callbacks = {diary}});
  EXPECT_THAT(diary->lines,
              ElementsAre("begin", "epoch 0 of 2, 2 steps", "step 0", "step 1", "epoch 0 done and validated",
                          "epoch 1 of 2, 2 steps", "step 2", "step 3", "epoch 1 done and validated", "end"));
}

TEST_F(Callbacks, AreToldOfTheStepsAskedFor) {
  const auto diary = std::make_shared<Diary>();
  model_.fit(data_.repeat(), {.epochs = 3, .initial_epoch = 2, .steps_per_epoch = 3, .callbacks = {diary}});
  EXPECT_THAT(diary->lines,
              ElementsAre("begin", "epoch 2 of 3, 3 steps", "step 0", "step 1", "step 2", "epoch 2 done", "end"));
}

TEST_F(Callbacks, MayStopTrainingBeforeTheFirstStepWhichChangesNothing) {
  struct Stop : Callback {
    void on_train_begin(Model& model) override { model.stop_training(); }
  };
  for (const bool use_ema : {false, true}) {
    Model model = test::small_model(test::mirrored(2));
    model.compile(SGD({}, {.use_ema = use_ema}), SparseCategoricalCrossentropy({.from_logits = true}));
    const auto before = test::weights_of(model);
    EXPECT_TRUE(model.fit(data_, {.callbacks = {std::make_shared<Stop>()}}).epoch.empty());
    EXPECT_EQ(test::weights_of(model), before);
    EXPECT_TRUE(model.fit(data_, {.epochs = 2, .initial_epoch = 2}).epoch.empty());
    EXPECT_EQ(test::weights_of(model), before);
  }
}

TEST_F(Callbacks, MayStopTrainingAfterTheStepInHandWhichIsValidatedAsInKeras) {
  const auto diary = std::make_shared<Diary>([](Model& model, const StepReport& report) {
    if (report.step == 2) model.stop_training();
  });
  const History history = model_.fit(data_, {.epochs = 9, .validation = data_, .callbacks = {diary}});
  EXPECT_THAT(diary->lines,
              ElementsAre("begin", "epoch 0 of 9, 2 steps", "step 0", "step 1", "epoch 0 done and validated",
                          "epoch 1 of 9, 2 steps", "step 2", "epoch 1 done and validated", "end"));
  EXPECT_EQ(history.epoch.size(), 2U);
  EXPECT_EQ(history.values.at("val_loss").size(), 2U);
  EXPECT_EQ(model_.fit(data_, {.epochs = 2}).epoch.size(), 2U);
}

TEST_F(Callbacks, MayInterruptTrainingWithoutTheEpochsEnd) {
  const auto diary = std::make_shared<Diary>([](Model& model, const StepReport& report) {
    if (report.step != 2) return;
    model.interrupt_training();
    model.stop_training();  // a weaker request
  });
  const History history = model_.fit(data_, {.epochs = 9, .validation = data_, .callbacks = {diary}});
  EXPECT_THAT(diary->lines, ElementsAre("begin", "epoch 0 of 9, 2 steps", "step 0", "step 1",
                                        "epoch 0 done and validated", "epoch 1 of 9, 2 steps", "step 2", "end"));
  EXPECT_EQ(history.values.at("loss").size(), 2U);
  EXPECT_EQ(history.values.at("val_loss").size(), 1U);
}

/// The events of training, evaluation and prediction.
LambdaCallbackOptions events_into(std::vector<std::string>& lines) {
  const auto add = [&lines](const char* event) { return [=, &lines](Model&) { lines.push_back(event); }; };
  const auto begin = [&lines](const char* event) {
    return [=, &lines](Model&, std::int64_t batch) { lines.push_back(fmt::format("{} {} begins", event, batch)); };
  };
  const auto end = [&lines](const char* event) {
    return [=, &lines](Model&, const auto& report) { lines.push_back(fmt::format("{} {}", event, report.batch)); };
  };
  return {
      .on_train_begin = add("train"),
      .on_epoch_begin = [&](Model&, const EpochPlan& plan) { lines.push_back(fmt::format("epoch {}", plan.epoch)); },
      .on_train_batch_begin = begin("step"),
      .on_train_batch_end =
          [&](Model&, const StepReport& report) { lines.push_back(fmt::format("step {}", report.step_in_epoch)); },
      .on_epoch_end = [&](Model&, int epoch, const Logs&) { lines.push_back(fmt::format("epoch {} ends", epoch)); },
      .on_train_end = add("train ends"),
      .on_test_begin = add("test"),
      .on_test_batch_begin = begin("test"),
      .on_test_batch_end = end("test"),
      .on_test_end = [&](Model&, const Logs&) { lines.push_back("test ends"); },
      .on_predict_begin = add("predict"),
      .on_predict_batch_begin = begin("predict"),
      .on_predict_batch_end = end("predict"),
      .on_predict_end = add("predict ends")};
}

TEST_F(Callbacks, AreToldOfTrainingEvaluationAndPrediction) {
  std::vector<std::string> lines;
  const auto callback = std::make_shared<LambdaCallback>(events_into(lines));
  model_.fit(data_, {.epochs = 2, .validation = data_.take(1), .validation_freq = 2, .callbacks = {callback}});
  EXPECT_THAT(lines, ElementsAre("train", "epoch 0", "step 0 begins", "step 0", "step 1 begins", "step 1",
                                 "epoch 0 ends", "epoch 1", "step 0 begins", "step 0", "step 1 begins", "step 1",
                                 "test", "test 0 begins", "test 0", "test ends", "epoch 1 ends", "train ends"));
  lines.clear();
  (void)model_.evaluate(data_, {.callbacks = {callback, std::make_shared<LambdaCallback>(LambdaCallbackOptions{})}});
  EXPECT_THAT(lines, ElementsAre("test", "test 0 begins", "test 0", "test 1 begins", "test 1", "test ends"));
  lines.clear();
  const SmallProblem problem(8);
  (void)model_.predict(problem.x, {.batch_size = 5, .callbacks = {callback}});
  EXPECT_THAT(lines,
              ElementsAre("predict", "predict 0 begins", "predict 0", "predict 1 begins", "predict 1", "predict ends"));
  lines.clear();
  (void)model_.evaluate(problem.x, problem.y, {.batch_size = 8, .callbacks = {callback}});
  EXPECT_THAT(lines, ElementsAre("test", "test 0 begins", "test 0", "test ends"));
}

TEST_F(Callbacks, OfEvaluationGetTheValuesSoFar) {
  const SmallProblem problem(11);
  std::vector<Logs> running;
  std::vector<std::int64_t> examples;
  Logs at_end;
  const auto callback = std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_test_batch_end =
                                [&](Model&, const TestBatchReport& report) {
                                  running.push_back(report.running());
                                  examples.push_back(report.examples);
                                },
                            .on_test_end = [&](Model&, const Logs& logs) { at_end = logs; }});
  const Logs result = model_.evaluate(problem.x, problem.y, {.batch_size = 4, .callbacks = {callback}});
  EXPECT_THAT(examples, ElementsAre(4, 4, 3));
  EXPECT_EQ(at_end, result);
  EXPECT_EQ(running.back(), result);
  EXPECT_EQ(running[1], model_.evaluate(problem.dataset().take(8).batch(4)));
}

TEST_F(Callbacks, OfPredictionGetEachBatchesOutputs) {
  const SmallProblem problem(11);
  std::vector<Tensor> outputs;
  const auto callback = std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_predict_batch_end = [&](Model&, const PredictBatchReport& report) {
        outputs.push_back(report.outputs().front());
        EXPECT_EQ(outputs.back().dim(0), report.examples);
      }});
  const Tensor all = model_.predict(problem.x, {.batch_size = 4, .callbacks = {callback}});
  ASSERT_EQ(outputs.size(), 3U);
  test::expect_same_bits(concatenate(outputs, 0), all);
}

// Evaluation and prediction must not write the replicas' own statistics over those that a callback restores.
TEST_F(Callbacks, MayEvaluateOtherWeights) {
  const Model normalizing = test::mirrored(2).scope([] {
    const Symbol input = Input({8});
    Model model(input, Dense({.units = 3})(BatchNormalization()(input)), {.seed = 5});
    model.compile(SGD(), SparseCategoricalCrossentropy{{.from_logits = true}});
    return model;
  });
  const Logs own = normalizing.evaluate(data_);
  const std::vector<Tensor> weights = normalizing.get_weights();
  std::vector<Tensor> zeros;
  for (const Tensor& weight : weights) zeros.push_back(Tensor::zeros(weight.shape()));
  const auto swap = std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_test_begin = [&](Model& model) { model.set_weights(zeros); },
                            .on_test_end = [&](Model& model, const Logs&) { model.set_weights(weights); },
                            .on_predict_begin = [&](Model& model) { model.set_weights(zeros); },
                            .on_predict_end = [&](Model& model) { model.set_weights(weights); }});
  EXPECT_NEAR(normalizing.evaluate(data_, {.callbacks = {swap}}).at("loss"), std::log(3), 1e-6);
  EXPECT_EQ(normalizing.evaluate(data_), own);
  test::expect_close(normalizing.predict(data_, {.callbacks = {swap}}), std::vector<double>(24));
  EXPECT_EQ(normalizing.evaluate(data_), own);
}

TEST_F(Callbacks, AnExceptionEndsEvaluationAndPrediction) {
  const auto fails = std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_test_batch_begin = [](Model&, std::int64_t) { throw std::out_of_range("own"); },
                            .on_predict_end = [](Model&) { throw std::out_of_range("own"); }});
  EXPECT_THAT([&] { (void)model_.evaluate(data_, {.callbacks = {fails}}); },
              testing::ThrowsMessage<std::out_of_range>("own"));
  EXPECT_THAT([&] { (void)model_.predict(data_, {.callbacks = {fails}}); },
              testing::ThrowsMessage<std::out_of_range>("own"));
  EXPECT_EQ(model_.evaluate(data_).size(), 2U);
}

TEST_F(Callbacks, AnExceptionEndsFitAndTheModelCanGoOn) {
  const auto diary = std::make_shared<Diary>([](Model&, const StepReport& report) {
    if (report.step == 1) throw std::out_of_range("a callback's own");
  });
  EXPECT_THAT([&] { model_.fit(data_, {.epochs = 2, .callbacks = {diary}}); },
              testing::ThrowsMessage<std::out_of_range>("a callback's own"));
  EXPECT_THAT(diary->lines, ElementsAre("begin", "epoch 0 of 2, 2 steps", "step 0", "step 1"));
  EXPECT_EQ(model_.optimizer().iterations(), 2);
  EXPECT_EQ(model_.fit(data_, {.epochs = 2}).epoch.size(), 2U);
  EXPECT_EQ(model_.optimizer().iterations(), 6);
}

TEST_F(Callbacks, LearningRateSchedulerSetsTheRateOfEachEpoch) {
  std::vector<double> seen;
  const auto halve = std::make_shared<LearningRateScheduler>([&](int epoch, double current) {
    seen.push_back(current);
    return epoch == 0 ? current : current / 2;
  });
  const History history = model_.fit(data_, {.epochs = 3, .callbacks = {halve}});
  EXPECT_THAT(seen, ElementsAre(0.2, 0.2, 0.1));
  EXPECT_THAT(history.values.at("learning_rate"), ElementsAre(0.2, 0.1, 0.05));
  EXPECT_EQ(model_.optimizer().learning_rate(), 0.05);
}

TEST(PolyDecay, FallsFromTheInitialRateToZero) {
  const EpochSchedule linear = poly_decay(5e-3, 70);
  EXPECT_DOUBLE_EQ(linear(0, 123), 5e-3);
  EXPECT_DOUBLE_EQ(linear(35, 123), 2.5e-3);
  EXPECT_DOUBLE_EQ(linear(69, 123), 5e-3 * (1 - 69.0 / 70));
  EXPECT_EQ(linear(70, 123), 0);
  EXPECT_EQ(linear(71, 123), 0);
  EXPECT_DOUBLE_EQ(poly_decay(1, 4, 2)(1, 0), 0.5625);
  EXPECT_THROW(poly_decay(1, 0), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
