#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/compat/estimator.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/early_stopping.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/verify.h>

// A train_step and a test_step of the program's own.

namespace lockstep {
namespace {

using test::small_model;
using test::SmallProblem;
using testing::ElementsAre;
using testing::Key;

const SparseCategoricalCrossentropy logits_loss{{.from_logits = true}};

/// The losses and the accuracy of a batch.
StepValues values_of(const Batch& batch, const Tensor& y_pred, const Tensor& loss) {
  const Metric::Sums right = Accuracy().update(batch.y(), y_pred);
  return {{"loss", {loss, batch.size()}}, {"accuracy", {right[0], right[1]}}};
}

Tensor total_loss(const Batch& batch, const Tensor& y_pred) {
  const Tensor losses = logits_loss(batch.y(), y_pred);
  return sum(batch.sample_weight().defined() ? losses * batch.sample_weight() : losses);
}

/// What fit() does with the loss of small_model.
StepValues as_fit(const Model& model, const Batch& batch, std::int64_t global_size) {
  GradientTape tape;
  const Tensor y_pred = model(batch.x(), Mode::train);
  const Tensor loss = total_loss(batch, y_pred);
  model.optimizer().minimize(tape, loss / static_cast<double>(global_size), model.trainable_variables());
  return values_of(batch, y_pred, loss);
}

/// What evaluate() does with it.
StepValues as_evaluate(const Model& model, const Batch& batch, std::int64_t) {
  const Tensor y_pred = model(batch.x());
  return values_of(batch, y_pred, total_loss(batch, y_pred));
}

Model custom_model(const Strategy& strategy, const CustomSteps& steps,
                   const std::vector<OutputTraining>& outputs = {}) {
  Model model = small_model(strategy);
  model.compile(SGD({.learning_rate = 0.2, .momentum = 0.9}), outputs, steps);
  return model;
}

std::map<std::string, std::vector<double>> without_times(History history) {
  history.values.erase("epoch_s");
  history.values.erase("examples_per_s");
  return history.values;
}

class CustomStepsOn : public testing::TestWithParam<int> {
 protected:
  const MirroredStrategy strategy_ = test::mirrored(GetParam());
  const SmallProblem problem_{50};
  /// The last batch has 2 rows, so most replicas get none.
  const Dataset data_ = problem_.dataset().batch(16);
};

TEST_P(CustomStepsOn, HaveTheBitsOfFitIfTheyDoTheSame) {
  Model expected = small_model(strategy_);
  const FitOptions options{.epochs = 2, .validation = data_, .class_weight = {{0, 2.0}, {2, 0.5}}};
  const auto history = without_times(expected.fit(data_, options));
  const std::vector<OutputTraining> outputs{{.loss = logits_loss, .metrics = {Accuracy()}}};
  for (const bool by_test_step : {false, true}) {
    Model model = by_test_step ? custom_model(strategy_, {.train_step = as_fit, .test_step = as_evaluate})
                               : custom_model(strategy_, {.train_step = as_fit}, outputs);
    EXPECT_EQ(without_times(model.fit(data_, options)), history);
    EXPECT_EQ(test::weights_of(model), test::weights_of(expected));
    EXPECT_NO_THROW(verify_mirrored(model.variables()));
    EXPECT_EQ(model.test_on_batch(problem_.x, problem_.y), expected.test_on_batch(problem_.x, problem_.y));
  }
}

TEST_P(CustomStepsOn, RunInTrainOnBatch) {
  Model expected = small_model(strategy_);
  Model model = custom_model(strategy_, {.train_step = as_fit});
  for (const Batch& batch : data_.epoch()) EXPECT_EQ(model.train_on_batch(batch), expected.train_on_batch(batch));
  EXPECT_EQ(test::weights_of(model), test::weights_of(expected));
}

/// A generator of points like those of SmallProblem, and a discriminator, each with its own optimizer.
struct Adversaries {
  explicit Adversaries(const Strategy& strategy)
      : generator(strategy.scope([] { return Sequential({8}, {Dense({.units = 8})}, {.seed = 1}); })),
        discriminator(strategy.scope([] {
          return Sequential({8}, {Dense({.units = 4, .activation = Activation::relu}), Dense({.units = 1})},
                            {.seed = 2});
        })) {}

  /// The sums over a batch of the losses that the discriminator and the generator have.
  std::pair<Tensor, Tensor> step(const Batch& batch, std::int64_t global_size) const {
    const auto all = static_cast<double>(global_size);
    const auto loss = [&](const Tensor& x, double label) {
      const Tensor logits = discriminator(x, Mode::train);
      return sum(BinaryCrossentropy({.from_logits = true})(Tensor::full(logits.shape(), label), logits));
    };
    GradientTape of_discriminator;
    const Tensor judged = loss(batch.x(), 1) + loss(generator(batch.x() * 0.5, Mode::train), 0);
    for_discriminator.minimize(of_discriminator, judged / all, discriminator.trainable_variables());
    GradientTape of_generator;
    const Tensor fooled = loss(generator(batch.x() * 0.5, Mode::train), 1);
    for_generator.minimize(of_generator, fooled / all, generator.trainable_variables());
    return {judged, fooled};
  }

  Model generator;
  Model discriminator;
  Adam for_generator{{.learning_rate = 0.01}};
  Adam for_discriminator{{.learning_rate = 0.02}};
};

TEST_P(CustomStepsOn, TrainSeveralModelsAsACustomLoopDoes) {
  Adversaries by_loop(strategy_);
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const DistributedBatch& batch : strategy_.distribute(data_).epoch())
      strategy_.run([&](const Batch& local) { (void)by_loop.step(local, batch.global_size()); }, batch);

  const auto trained = [&](const Strategy& strategy, std::vector<std::vector<double>>* weights) {
    Adversaries by_fit(strategy);
    by_fit.generator.compile(
        by_fit.for_generator, {},
        {.train_step = [&](const Model&, const Batch& batch, std::int64_t global_size) -> StepValues {
          const auto [judged, fooled] = by_fit.step(batch, global_size);
          return {{"d_loss", {judged, batch.size()}}, {"g_loss", {fooled, batch.size()}}};
        }});
    std::vector<double> step_losses;
    const auto recorder = std::make_shared<LambdaCallback>(LambdaCallbackOptions{
        .on_train_batch_end = [&](Model&, const StepReport& report) { step_losses.push_back(report.loss); }});
    const History history =
        by_fit.generator.fit(data_, {.epochs = 2,
                                     .callbacks = {recorder, std::make_shared<EarlyStopping>(EarlyStoppingOptions{
                                                                 .monitor = "g_loss", .patience = 5})}});
    EXPECT_EQ(step_losses, std::vector<double>(8, 0)) << "no value is named loss";
    for (const Model& model : {by_fit.generator, by_fit.discriminator})
      for (const auto& values : test::weights_of(model)) weights->push_back(values);
    return history;
  };
  std::vector<std::vector<double>> weights;
  const History history = trained(strategy_, &weights);
  EXPECT_THAT(history.values,
              ElementsAre(Key("d_loss"), Key("epoch_s"), Key("examples_per_s"), Key("g_loss"), Key("learning_rate")));
  std::vector<std::vector<double>> expected = test::weights_of(by_loop.generator);
  for (const auto& values : test::weights_of(by_loop.discriminator)) expected.push_back(values);
  EXPECT_EQ(weights, expected);

  std::vector<std::vector<double>> alone;
  const History one = trained(test::mirrored(1), &alone);
  for (const char* const name : {"d_loss", "g_loss"})
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      const double loss = one.values.at(name)[epoch];
      EXPECT_NEAR(history.values.at(name)[epoch], loss, test::tolerance(DType::f32, 16 * 8, loss)) << name;
    }
}

TEST_P(CustomStepsOn, AnErrorOnOneReplicaEndsTheStepOnAll) {
  const int last = GetParam() - 1;
  int calls = 0;
  Model model = custom_model(
      strategy_, {.train_step = [&](const Model& own, const Batch& batch, std::int64_t global_size) -> StepValues {
        if (test::this_replica() == last && calls++ == 2) fail("the step gives up");
        return as_fit(own, batch, global_size);
      }});
  EXPECT_ERROR(InvalidArgument, "the step gives up", model.fit(data_));
  EXPECT_EQ(model.optimizer().iterations(), 2);
  model.compile(SGD({.learning_rate = 0.2}), {}, {.train_step = as_fit});
  EXPECT_GT(model.fit(data_).values.at("loss").front(), 0);
}

INSTANTIATE_TEST_SUITE_P(Replicas, CustomStepsOn, testing::Values(1, 2, 3, 5));

// The step's own values are in the backup of the interrupted epoch.
TEST(CustomSteps, ResumeWithinAnEpoch) {
  const Dataset data = SmallProblem(50).dataset().batch(16);
  const test::TemporaryFolder folder;
  const auto backup = [&](const std::string& name) {
    return std::make_shared<BackupAndRestore>(folder / name, BackupAndRestoreOptions{.save_when_stopped = true});
  };
  struct Trained {
    std::vector<std::vector<double>> weights{};
    std::int64_t steps = 0;
    Logs logs{};
  };
  const auto train = [&](const std::string& name, std::int64_t stop_at) {
    Trained trained;
    Model model = custom_model(test::mirrored(2), {.train_step = as_fit});
    const auto each_step = [&](Model& running, const StepReport& report) {
      ++trained.steps;
      if (report.step == stop_at) running.stop_training();
    };
    const auto each_epoch = [&](Model&, int, const Logs& logs) { trained.logs = logs; };
    const auto observer = std::make_shared<LambdaCallback>(
        LambdaCallbackOptions{.on_train_batch_end = each_step, .on_epoch_end = each_epoch});
    model.fit(data, {.epochs = 2, .callbacks = {backup(name), observer}});
    trained.weights = test::weights_of(model);
    return trained;
  };
  const Trained whole = train("whole", -1);
  EXPECT_EQ(train("parts", 5).steps, 6);
  const Trained resumed = train("parts", -1);
  EXPECT_EQ(resumed.steps, 2);
  EXPECT_EQ(resumed.weights, whole.weights);
  EXPECT_EQ(resumed.logs.at("loss"), whole.logs.at("loss"));
  EXPECT_EQ(resumed.logs.at("accuracy"), whole.logs.at("accuracy"));

  train("other", 1);
  Model other = small_model(test::mirrored(2));
  const auto before = test::weights_of(other);
  EXPECT_ERROR(InputError, "belongs to a run with a train_step, this one is without one",
               other.fit(data, {.callbacks = {backup("other")}}));
  EXPECT_EQ(test::weights_of(other), before);
}

TEST(CustomSteps, AreNotInFilesOfModels) {
  const test::TemporaryFolder folder;
  Model model = custom_model(test::mirrored(2), {.train_step = as_fit});
  model.fit(SmallProblem(16).dataset().batch(16));
  testing::internal::CaptureStderr();
  model.save(folder / "model.keras");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("saved without its optimizer"));
  const Model loaded = load_model(folder / "model.keras");
  EXPECT_EQ(test::weights_of(loaded), test::weights_of(model));
  EXPECT_ERROR(LogicError, "call compile() first", loaded.optimizer());
}

TEST(CustomSteps, OfAnEstimatorTrainItsModel) {
  const SmallProblem problem(16);
  Model made = Sequential({8}, {Dense({.units = 3})}, {.seed = 1});
  Model expected = Sequential({8}, {Dense({.units = 3})}, {.seed = 1});
  made.compile(SGD({.learning_rate = 0.1}), {}, {.train_step = as_fit, .test_step = as_evaluate});
  expected.compile(SGD({.learning_rate = 0.1}), logits_loss);
  const auto input_fn = [&] { return problem.dataset().batch(16); };
  const auto before = test::weights_of(made);
  Estimator estimator = model_to_estimator(made);
  estimator.train(input_fn);
  expected.fit(input_fn());
  EXPECT_EQ(estimator.evaluate(input_fn).at("loss"), expected.evaluate(input_fn()).at("loss"));
  EXPECT_EQ(test::weights_of(made), before);
}

CustomSteps returning(std::function<StepValues(const Batch&)> values) {
  return {.train_step = [values = std::move(values)](const Model&, const Batch& batch, std::int64_t) {
    return values(batch);
  }};
}

// The mean of a replica without rows is NaN.
TEST(CustomSteps, LeaveOutValuesWithoutWeight) {
  Model model = custom_model(test::mirrored(3), returning([](const Batch& batch) -> StepValues {
                               const auto rows = static_cast<double>(batch.size());
                               return {{"one", {rows / rows * rows, rows}}};
                             }));
  const SmallProblem problem(2);
  EXPECT_EQ(model.train_on_batch(problem.x, problem.y).at("one"), 1);
}

TEST(CustomSteps, RefuseWhatTheyCannotUse) {
  const MirroredStrategy strategy = test::mirrored(2);
  const Dataset data = SmallProblem(16).dataset().batch(16);
  const auto fit = [&](const CustomSteps& steps, const FitOptions& options = {}) {
    custom_model(strategy, steps).fit(data, options);
  };
  EXPECT_ERROR(InvalidArgument, "values of the same names, got [r0], and [r1] from another step",
               fit(returning([](const Batch&) -> StepValues {
                 return {{fmt::format("r{}", test::this_replica()), {1.0, 1}}};
               })));
  for (const char* const name : {"", "val_loss", "learning_rate"})
    EXPECT_ERROR(InvalidArgument, fmt::format("named '{}', which fit's logs use otherwise", name),
                 fit(returning([&](const Batch&) -> StepValues {
                   return {{name, {1.0, 1}}};
                 })));
  EXPECT_ERROR(InvalidArgument, "must be a scalar of floating-point numbers, 'loss' is",
               fit(returning([](const Batch& batch) -> StepValues {
                 return {{"loss", {batch.x(), 1}}};
               })));
  EXPECT_ERROR(LogicError, "validation needs a test_step or the outputs' losses and metrics",
               fit({.train_step = as_fit}, {.validation = data}));
  EXPECT_ERROR(LogicError, "evaluate() needs a test_step",
               custom_model(strategy, {.train_step = as_fit}).evaluate(data));
}

TEST(CustomSteps, NeedReturnNothing) {
  Model model = custom_model(test::mirrored(2), returning([](const Batch&) { return StepValues(); }));
  EXPECT_THAT(model.fit(SmallProblem(16).dataset().batch(8)).values,
              ElementsAre(Key("epoch_s"), Key("examples_per_s"), Key("learning_rate")));
}

}  // namespace
}  // namespace lockstep
