#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/models/compat/estimator.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>

namespace lockstep::test {
namespace {

Model plain_model() { return small_model(get_strategy(), {.learning_rate = 0.2}); }

class EstimatorOn : public testing::TestWithParam<int> {
 protected:
  Estimator estimator() const { return model_to_estimator(plain_model(), {.train_distribute = mirrored(GetParam())}); }
  /// Batches of 4 rows for each replica; the last one is smaller.
  Estimator::InputFunction input_fn() const {
    return [this] { return problem_.dataset().batch(4); };
  }

  const SmallProblem problem_{90};
};

TEST_P(EstimatorOn, TrainsOnABatchForEachReplica) {
  Estimator trained = estimator();
  std::vector<std::vector<std::int64_t>> rows;
  const auto watch = std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_train_batch_end = [&](Model&, const StepReport& step) { rows.push_back(step.rows); }});
  trained.train(input_fn(), {.steps = 2, .hooks = {watch}});
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& step : rows) EXPECT_EQ(step, std::vector<std::int64_t>(static_cast<std::size_t>(GetParam()), 4));
}

TEST_P(EstimatorOn, TrainsAsFitDoesOnGlobalBatches) {
  Estimator trained = estimator();
  trained.train(input_fn());
  Model model = small_model(mirrored(GetParam()), {.learning_rate = 0.2});
  model.fit(problem_.dataset().batch(4 * GetParam()));
  EXPECT_EQ(weights_of(trained.model()), weights_of(model));
  const Logs logs = trained.evaluate(input_fn());
  const Logs expected = model.evaluate(problem_.dataset().batch(4 * GetParam()));
  for (const char* name : {"loss", "accuracy"}) EXPECT_EQ(logs.at(name), expected.at(name)) << name;
  EXPECT_EQ(logs.at("global_step"), (23 + GetParam() - 1) / GetParam());  // 23 batches
  expect_same_bits(trained.predict(input_fn()), model.predict(problem_.dataset().batch(4 * GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Replicas, EstimatorOn, testing::ValuesIn(replica_counts));

TEST(Estimator, CountsStepsOverCalls) {
  const SmallProblem problem(40);
  const auto input_fn = [&] { return problem.dataset().batch(4).repeat(); };
  Estimator estimator = model_to_estimator(plain_model(), {.train_distribute = mirrored(2)});
  const auto steps = [&] { return estimator.evaluate(input_fn, 1).at("global_step"); };
  estimator.train(input_fn, {.steps = 3});
  EXPECT_EQ(steps(), 3);
  estimator.train(input_fn, {.steps = 2}).train(input_fn, {.max_steps = 9});
  EXPECT_EQ(steps(), 9);
  estimator.train(input_fn, {.max_steps = 9});
  EXPECT_EQ(steps(), 9);
}

TEST(Estimator, StartsFromTheModelsWeightsAndLeavesTheModelAlone) {
  const SmallProblem problem(16);
  const Model model = plain_model();
  const auto before = weights_of(model);
  Estimator estimator = model_to_estimator(model);
  EXPECT_EQ(weights_of(estimator.model()), before);
  estimator.train([&] { return problem.dataset().batch(4); });
  EXPECT_NE(weights_of(estimator.model()), before);
  EXPECT_EQ(weights_of(model), before);
}

TEST(Estimator, RefusesWhatItCannotUse) {
  const SmallProblem problem(16);
  const Symbol x = Input({8});
  EXPECT_ERROR(LogicError, "call compile() first", model_to_estimator(Model(x, Dense({.units = 2})(x))));
  Model trained = plain_model();
  trained.fit(problem.dataset().batch(8));
  EXPECT_ERROR(LogicError, "this one has done 2", model_to_estimator(trained));
  const MirroredStrategy strategy = mirrored(2);
  const Model model = plain_model();
  EXPECT_ERROR(LogicError, "call it outside", strategy.scope([&] { (void)model_to_estimator(model); }));
  Estimator estimator = model_to_estimator(model, {.train_distribute = strategy});
  const auto endless = [&] { return problem.dataset().batch(4).repeat(); };
  EXPECT_ERROR(InvalidArgument, "got both", estimator.train(endless, {.steps = 1, .max_steps = 1}));
  EXPECT_ERROR(InvalidArgument, "steps_per_epoch", estimator.train(endless));
}

}  // namespace
}  // namespace lockstep::test
