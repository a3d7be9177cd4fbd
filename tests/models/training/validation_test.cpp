#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/training/callback.h>

namespace lockstep {
namespace {

/// Counts the steps of fit.
struct StepCounter : Callback {
  void on_train_batch_end(Model&, const StepReport&) override { ++steps; }
  int steps = 0;
};

class Validation : public testing::Test {
 protected:
  /// Expects that fit with this validation data throws InvalidArgument with this text after `steps` steps.
  void expect_refused(const Dataset& validation, const std::string& text, int steps) {
    const auto counter = std::make_shared<StepCounter>();
    EXPECT_ERROR(InvalidArgument, text, model_.fit(data_, {.validation = validation, .callbacks = {counter}}));
    EXPECT_EQ(counter->steps, steps);
  }

  Model model_ = test::small_model(test::mirrored(2));
  const test::SmallProblem problem_{8};
  const Dataset data_ = problem_.dataset().batch(4);
};

TEST_F(Validation, DataThatCannotBeEvaluatedAreRefusedBeforeTraining) {
  expect_refused(data_.take(0), "fit()'s `validation` is an empty data set", 0);
  expect_refused(data_.repeat(), "fit()'s `validation` is a data set without end: give validation_steps", 0);
  const std::string no_targets = "fit()'s validation: losses and metrics need a data set with targets";
  const auto only_x = [](const Example& example) { return Example{example.inputs}; };
  expect_refused(Dataset::from_tensors(problem_.x).batch(4), no_targets, 0);
  expect_refused(problem_.dataset().shuffle().map(only_x).batch(4).prefetch(), no_targets, 0);
  expect_refused(Dataset::from_tensors({{problem_.x}, {problem_.y, problem_.y}}).batch(4),
                 "fit()'s validation: a model of 1 output(s) needs as many targets, the data set has 2", 0);
  // No epoch validates.
  const Dataset without_targets = Dataset::from_tensors(problem_.x).batch(4);
  EXPECT_EQ(model_.fit(data_, {.validation = without_targets, .validation_freq = 2}).epoch.size(), 1U);
}

TEST_F(Validation, ATestStepNeedsNoTargets) {
  const auto test_step = [](const Model& model, const Batch& batch, std::int64_t) -> StepValues {
    return {{"largest", {max(model(batch.x())), 1}}};
  };
  model_.compile(
      SGD(), {},
      {.train_step = [](const Model&, const Batch&, std::int64_t) { return StepValues{}; }, .test_step = test_step});
  const History history = model_.fit(data_, {.validation = Dataset::from_tensors(problem_.x).batch(4)});
  EXPECT_EQ(history.values.at("val_largest").size(), 1U);
}

TEST_F(Validation, ErrorsInItAreNamed) {
  const Dataset generated =
      Dataset::from_generator([none = problem_.dataset().take(0)](std::uint64_t) { return none.epoch(); });
  expect_refused(generated.batch(4), "fit()'s validation: the data set is empty", 2);
  const Dataset without_targets =
      Dataset::from_generator([x = Dataset::from_tensors(problem_.x)](std::uint64_t) { return x.epoch(); });
  expect_refused(without_targets.batch(4), "fit()'s validation: replica ", 2);
}

}  // namespace
}  // namespace lockstep
