#include <algorithm>
#include <cmath>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep {
namespace {

using test::small_model;
using test::SmallProblem;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;
using testing::ThrowsMessage;

/// Records the reports of all steps.
struct StepRecorder : Callback {
  void on_train_batch_end(Model&, const StepReport& report) override { steps.push_back(report); }
  std::vector<StepReport> steps;
};

class FitOn : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);
};

TEST_P(FitOn, Learns) {
  Model model = small_model(strategy_);
  const SmallProblem problem(256);
  const History history = model.fit(problem.dataset().shuffle().batch(32), {.epochs = 8});
  EXPECT_LT(history.values.at("loss").back(), history.values.at("loss").front() / 2);
  EXPECT_GT(history.values.at("accuracy").back(), 0.9);
  EXPECT_NO_THROW(verify_mirrored(model.variables()));
}

TEST_P(FitOn, HistoryHoldsEveryEpoch) {
  Model model = small_model(strategy_);
  const Dataset data = SmallProblem(40).dataset().batch(16);
  const History history = model.fit(data, {.epochs = 3, .initial_epoch = 1, .validation = data});
  EXPECT_EQ(history.epoch, (std::vector<int>{1, 2}));
  EXPECT_THAT(history.values, testing::ElementsAre(Pair("accuracy", SizeIs(2)), Pair("epoch_s", SizeIs(2)),
                                                   Pair("examples_per_s", SizeIs(2)), Pair("learning_rate", SizeIs(2)),
                                                   Pair("loss", SizeIs(2)), Pair("val_accuracy", SizeIs(2)),
                                                   Pair("val_loss", SizeIs(2))));
  EXPECT_EQ(history.values.at("learning_rate").back(), 0.2);
  EXPECT_NEAR(history.values.at("epoch_s").back() * history.values.at("examples_per_s").back(), 40, 1e-6);
  const auto evaluated = model.evaluate(data);
  EXPECT_EQ(history.values.at("val_loss").back(), evaluated.at("loss"));
  EXPECT_EQ(history.values.at("val_accuracy").back(), evaluated.at("accuracy"));
}

// The last batches have 2 rows, so most replicas get none. Gradients are sums over a batch's rows in another grouping,
// added up in 20 steps; the summands are as large as the weights.
TEST_P(FitOn, AnyNumberOfReplicasTrainsTheSameModel) {
  const Dataset data = SmallProblem(50).dataset().batch(16);
  Model alone = small_model(test::mirrored(1));
  Model together = small_model(strategy_);
  const History one = alone.fit(data, {.epochs = 5});
  const History many = together.fit(data, {.epochs = 5});
  const auto expected = test::weights_of(alone);
  for (std::size_t i = 0; i < expected.size(); ++i)
    test::expect_close(together.variables()[i].value(), expected[i], 16 * 20);
  for (std::size_t epoch = 0; epoch < 5; ++epoch) {
    const double loss = one.values.at("loss")[epoch];
    EXPECT_NEAR(many.values.at("loss")[epoch], loss, test::tolerance(DType::f32, 16 * 20, loss));
    EXPECT_EQ(many.values.at("accuracy")[epoch], one.values.at("accuracy")[epoch]);
  }
}

// Each point's two halves as two inputs that the model concatenates: the same numbers as with one input.
TEST_P(FitOn, SeveralInputsAreFed) {
  const SmallProblem problem(64);
  const Tensor left = dense_copy(problem.x.slice_view(1, 0, 3));
  const Tensor right = dense_copy(problem.x.slice_view(1, 3, 8));
  const Dataset halves = Dataset::from_tensors({{left, right}, {problem.y}}).batch(20);
  Model model = strategy_.scope([&] {
    const Symbol a = Input({3});
    const Symbol b = Input({5});
    const Symbol hidden = Dense({.units = 16, .activation = Activation::relu})(Concatenate()({a, b}));
    return Model({a, b}, Dense({.units = 3})(hidden), {.seed = 5});
  });
  model.compile(SGD({.learning_rate = 0.2, .momentum = 0.9}), SparseCategoricalCrossentropy{{.from_logits = true}},
                {Accuracy{}});
  Model whole = small_model(strategy_);
  whole.set_weights(model.get_weights());
  const Dataset wholes = problem.dataset().batch(20);
  EXPECT_EQ(model.fit(halves, {.epochs = 2}).values.at("loss"), whole.fit(wholes, {.epochs = 2}).values.at("loss"));
  EXPECT_EQ(model.evaluate(halves), whole.evaluate(wholes));
  EXPECT_EQ(model.predict(halves).to_vector<float>(), whole.predict(wholes).to_vector<float>());
}

TEST_P(FitOn, GivesTheSameBitsAgain) {
  const Dataset data = SmallProblem(50).dataset().shuffle({.seed = 1}).batch(16);
  Model first = small_model(strategy_);
  Model second = small_model(strategy_);
  const History history = first.fit(data, {.epochs = 3});
  EXPECT_EQ(second.fit(data, {.epochs = 3}).values.at("loss"), history.values.at("loss"));
  EXPECT_EQ(test::weights_of(second), test::weights_of(first));
}

TEST_P(FitOn, TensorsAreADataSetThatIsShuffledAndBatched) {
  const SmallProblem problem(50);
  const Tensor weight = test::random_tensor({50}, 3, 0, 2);
  const Dataset data = Dataset::from_tensors(problem.x, problem.y, weight);
  for (const bool shuffle : {true, false}) {
    Model by_tensors = small_model(strategy_);
    Model by_dataset = small_model(strategy_);
    const Batch tensors{{problem.x}, {problem.y}, {weight}};
    const History history = by_tensors.fit(tensors, {.batch_size = 16, .shuffle = shuffle, .epochs = 2});
    const History expected = by_dataset.fit((shuffle ? data.shuffle() : data).batch(16), {.epochs = 2});
    EXPECT_EQ(history.values.at("loss"), expected.values.at("loss"));
    EXPECT_EQ(test::weights_of(by_tensors), test::weights_of(by_dataset));
  }
}

// As in Keras, floor(50 * 0.75) examples are trained on.
TEST_P(FitOn, ValidatesWithTheLastPartOfTheTensors) {
  const SmallProblem problem(50);
  const Tensor weight = test::random_tensor({50}, 3, 0, 2);
  const Dataset data = Dataset::from_tensors(problem.x, problem.y, weight);
  Model split = small_model(strategy_);
  Model expected = small_model(strategy_);
  const History history =
      split.fit({{problem.x}, {problem.y}, {weight}}, {.batch_size = 10, .epochs = 2, .validation_split = 0.25});
  const History by_hand =
      expected.fit(data.take(37).shuffle().batch(10), {.epochs = 2, .validation = data.skip(37).batch(10)});
  for (const char* name : {"loss", "accuracy", "val_loss", "val_accuracy"})
    EXPECT_EQ(history.values.at(name), by_hand.values.at(name)) << name;
  EXPECT_EQ(test::weights_of(split), test::weights_of(expected));
}

TEST_P(FitOn, ReportsEveryStep) {
  Model model = small_model(strategy_);
  const auto recorder = std::make_shared<StepRecorder>();
  const History history = model.fit(SmallProblem(20).dataset().batch(8), {.epochs = 2, .callbacks = {recorder}});
  ASSERT_EQ(recorder->steps.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    const StepReport& report = recorder->steps[i];
    EXPECT_EQ(report.step, static_cast<std::int64_t>(i));
    EXPECT_EQ(report.step_in_epoch, static_cast<std::int64_t>(i % 3));
    EXPECT_EQ(report.examples, i % 3 == 2 ? 4 : 8);
    EXPECT_EQ(report.learning_rate, 0.2);
    double split = 0;
    for (const double ms : report.split_ms) {
      EXPECT_GT(ms, 0);
      split += ms;
    }
    EXPECT_LE(split, report.step_ms);
  }
  // The epoch's loss weights steps by their numbers of examples.
  const double weighted =
      (8 * recorder->steps[3].loss + 8 * recorder->steps[4].loss + 4 * recorder->steps[5].loss) / 20;
  EXPECT_DOUBLE_EQ(history.values.at("loss")[1], weighted);
  EXPECT_EQ(recorder->steps[5].running.at("loss"), history.values.at("loss")[1]);
}

// Work that a GPU waits for must be enqueued before the host waits for the GPU.
TEST_P(FitOn, ReadsLossesAndMetricsAfterTheUpdate) {
  Model model = small_model(strategy_);
  const SGD optimizer({.learning_rate = 0.2});
  std::mutex mutex;
  std::vector<std::int64_t> updates;
  const MeanMetricWrapper probe("probe", [&](const Tensor& y_true, const Tensor&) {
    const std::lock_guard lock(mutex);
    updates.push_back(optimizer.iterations());
    return std::vector<double>(static_cast<std::size_t>(y_true.dim(0)), 1.0);
  });
  model.compile(optimizer, SparseCategoricalCrossentropy{{.from_logits = true}}, {probe});
  model.fit(SmallProblem(48).dataset().batch(16), {});
  std::ranges::sort(updates);
  std::vector<std::int64_t> expected;
  for (const std::int64_t step : {1, 2, 3}) expected.insert(expected.end(), static_cast<std::size_t>(replicas_), step);
  EXPECT_EQ(updates, expected);
}

TEST_P(FitOn, VerifiesCopiesWhenAsked) {
  Model model = small_model(strategy_);
  struct Spoiler : Callback {
    void on_train_batch_end(Model& model, const StepReport& report) override {
      if (report.step != 3) return;
      const Tensor last = model.variables()[0].state().copies().back();
      copy(Tensor::full(last.shape(), 1), last);
    }
  };
  const Dataset data = SmallProblem(64).dataset().batch(16);
  EXPECT_EQ(model.fit(data, {.verify_every = 1}).epoch.size(), 1U);
  const FitOptions spoiled{.callbacks = {std::make_shared<Spoiler>()}, .verify_every = 4};
  if (replicas_ == 1) return;
  EXPECT_THAT([&] { model.fit(data, spoiled); }, ThrowsMessage<BrokenInvariant>(HasSubstr("'dense/kernel' differ")));
}

TEST_P(FitOn, RefusesFewerExamplesThanReplicas) {
  Model model = small_model(strategy_);
  const auto fit_few = [&] { model.fit(SmallProblem(replicas_ - 1).dataset().batch(16)); };
  if (replicas_ == 1)
    EXPECT_THAT(fit_few, ThrowsMessage<InvalidArgument>(HasSubstr("empty")));
  else
    EXPECT_THAT(fit_few, ThrowsMessage<InvalidArgument>(HasSubstr(fmt::format("{} replicas busy", replicas_))));
  EXPECT_EQ(model.fit(SmallProblem(replicas_).dataset().batch(16)).epoch.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Replicas, FitOn, testing::ValuesIn(test::replica_counts));

class Fit : public testing::Test {
 protected:
  const MirroredStrategy strategy_ = test::mirrored(2);
  Model model_ = small_model(strategy_);
  const SmallProblem problem_{10};
  const Dataset data_ = problem_.dataset().batch(4);

  /// The problem's first points, from a generator of unknown length.
  Dataset generated(std::int64_t count) const {
    return Dataset::from_generator([points = problem_.dataset().take(count)](std::uint64_t) { return points.epoch(); });
  }
};

/// The mean of the labels, which identifies a batch.
Metric mean_label() {
  return MeanMetricWrapper("labels", [](const Tensor& y_true, const Tensor&) { return y_true.to_vector<double>(); });
}

TEST_F(Fit, WithStepsPerEpochPassesFollowOneAnother) {
  std::vector<std::int64_t> numbers(10);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::int64_t{1} << i;
  const Loss any("any",
                 [loss = SparseCategoricalCrossentropy{{.from_logits = true}}](const Tensor& y, const Tensor& p) {
                   return loss(Tensor::zeros(y.shape(), DType::i64), p);
                 });
  model_.compile(SGD(), any, {mean_label()});
  const Dataset data = Dataset::from_tensors(problem_.x, Tensor::from(numbers, {10})).shuffle({.seed = 9}).batch(4);
  const auto recorder = std::make_shared<StepRecorder>();
  model_.fit(data, {.epochs = 8, .steps_per_epoch = 1, .callbacks = {recorder}});

  std::vector<double> expected;
  for (std::uint64_t pass = 0; pass < 3; ++pass)
    for (const Batch& batch : data.epoch(pass)) expected.push_back(mean_label().update(batch.y(), batch.x())[0]);
  ASSERT_EQ(recorder->steps.size(), 8U);
  for (std::size_t step = 0; step < 8; ++step) {
    const StepReport& report = recorder->steps[step];
    EXPECT_EQ(report.step_in_epoch, 0);
    EXPECT_DOUBLE_EQ(report.running.at("labels") * static_cast<double>(report.examples), expected[step]) << step;
  }
}

TEST_F(Fit, TensorsHaveBatchesOf32AndAllTheirExamplesOnce) {
  std::vector<std::int64_t> numbers(40);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::int64_t{1} << i;
  const Loss any("any", [](const Tensor&, const Tensor& p) { return sum(p, {1}); });
  model_.compile(SGD({.learning_rate = 0}), any, {mean_label()});
  const auto recorder = std::make_shared<StepRecorder>();
  model_.fit(SmallProblem(40).x, Tensor::from(numbers, {40}), {.epochs = 2, .callbacks = {recorder}});
  std::vector<std::int64_t> sizes;
  for (const StepReport& report : recorder->steps) sizes.push_back(report.examples);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{32, 8, 32, 8}));
  const double all = static_cast<double>((std::int64_t{1} << 40) - 1);
  const auto mean_of = [&](std::size_t step) { return recorder->steps[step].running.at("labels"); };
  EXPECT_DOUBLE_EQ(mean_of(1) * 40, all);
  EXPECT_DOUBLE_EQ(mean_of(3) * 40, all);
  EXPECT_NE(mean_of(0), mean_of(2)) << "each epoch has its own order";
}

TEST_F(Fit, ValidatesAfterTheEpochsOfValidationFreq) {
  const auto validated = [&](const std::variant<int, std::vector<int>>& validation_freq, int initial_epoch = 0) {
    std::vector<int> epochs;
    const auto note = std::make_shared<LambdaCallback>(
        LambdaCallbackOptions{.on_epoch_end = [&](Model&, int epoch, const Logs& logs) {
          if (logs.contains("val_loss")) epochs.push_back(epoch + 1);
        }});
    const History history = model_.fit(data_, {.epochs = 7,
                                               .initial_epoch = initial_epoch,
                                               .validation = data_,
                                               .validation_freq = validation_freq,
                                               .callbacks = {note}});
    EXPECT_EQ(history.values.contains("val_loss") ? history.values.at("val_loss").size() : 0, epochs.size());
    EXPECT_EQ(history.values.at("loss").size(), static_cast<std::size_t>(7 - initial_epoch));
    return epochs;
  };
  EXPECT_EQ(validated(3), (std::vector{3, 6}));
  EXPECT_EQ(validated(3, 4), (std::vector{6}));
  EXPECT_EQ(validated(std::vector{1, 2, 5}), (std::vector{1, 2, 5}));
  EXPECT_EQ(validated(std::vector<int>{}), std::vector<int>{});
}

TEST_F(Fit, ValidatesWithTheFirstValidationSteps) {
  for (const Dataset& validation : {data_, data_.repeat(), generated(10).batch(4)}) {
    const History history = model_.fit(data_, {.epochs = 2, .validation = validation, .validation_steps = 2});
    EXPECT_EQ(history.values.at("val_loss").back(), model_.evaluate(data_.take(2)).at("loss"));
  }
}

TEST_F(Fit, WithoutStepsPerEpochEachEpochIsItsPass) {
  const auto recorder = std::make_shared<StepRecorder>();
  model_.fit(data_, {.epochs = 2, .callbacks = {recorder}});
  std::vector<std::int64_t> sizes;
  for (const StepReport& report : recorder->steps) sizes.push_back(report.examples);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4, 2, 4, 4, 2}));
}

TEST_F(Fit, APassThatEndsBeforeStepsPerEpochEndsTheEpochAsInKeras) {
  const auto steps_by_epoch = [&](const Dataset& data, std::int64_t steps_per_epoch) {
    std::vector<std::int64_t> steps(4, 0);
    const auto count = std::make_shared<StepRecorder>();
    std::size_t epoch = 0;
    const auto end = std::make_shared<LambdaCallback>(LambdaCallbackOptions{
        .on_epoch_end = [&](Model&, int, const Logs&) { steps[epoch++] = count->steps.back().step_in_epoch + 1; }});
    model_.fit(data, {.epochs = 4, .steps_per_epoch = steps_per_epoch, .callbacks = {count, end}});
    return steps;
  };
  // With 3 batches. Expected values: Keras 3.15 for data of known size.
  for (const Dataset& data : {data_, generated(10).batch(4)}) {
    EXPECT_EQ(steps_by_epoch(data, 5), (std::vector<std::int64_t>{3, 3, 3, 3}));
    EXPECT_EQ(steps_by_epoch(data, 3), (std::vector<std::int64_t>{3, 3, 3, 3}));
    EXPECT_EQ(steps_by_epoch(data, 2), (std::vector<std::int64_t>{2, 1, 2, 1}));
    EXPECT_EQ(steps_by_epoch(data.repeat(), 5), (std::vector<std::int64_t>{5, 5, 5, 5}));
  }
}

TEST_F(Fit, TrainsOnAGeneratorUntilItEnds) {
  const auto steps_of = [&](const Dataset& data) {
    const auto recorder = std::make_shared<StepRecorder>();
    const History history = model_.fit(data, {.epochs = 2, .validation = data, .callbacks = {recorder}});
    EXPECT_EQ(history.values.at("val_loss").size(), 2U);
    return recorder->steps.size();
  };
  const Dataset data = generated(10).batch(4);
  for (const Dataset& whole : {data, data.take(100), generated(10).take(100).shuffle().batch(4).prefetch()})
    EXPECT_EQ(steps_of(whole), 6U);
  EXPECT_EQ(steps_of(data.take(2)), 4U);
  EXPECT_EQ(steps_of(data.skip(1)), 4U);
  for (const Dataset& whole : {data, data.take(100)}) {
    EXPECT_EQ(model_.evaluate(whole), model_.evaluate(data_));
    EXPECT_EQ(model_.predict(whole).to_vector<float>(), model_.predict(data_).to_vector<float>());
  }
  const Dataset none = generated(0).batch(4);
  EXPECT_THAT([&] { model_.fit(none); }, ThrowsMessage<InvalidArgument>(HasSubstr("the data set is empty")));
  EXPECT_THAT([&] { model_.evaluate(none); }, ThrowsMessage<InvalidArgument>(HasSubstr("the data set is empty")));
  EXPECT_THAT([&] { model_.predict(none); }, ThrowsMessage<InvalidArgument>(HasSubstr("the data set is empty")));
  EXPECT_THAT([&] { model_.fit(data.repeat()); }, ThrowsMessage<InvalidArgument>(HasSubstr("steps_per_epoch")));
}

/// Text written to standard error, such as warnings.
template <class Work>
std::string said_during(const Work& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

TEST_F(Fit, WarnsOnceOfWhatIsHardlyMeant) {
  EXPECT_EQ(said_during([&] { model_.fit(data_, {.epochs = 2, .verbose = 0}); }), "");

  model_.compile(SGD(), SparseCategoricalCrossentropy());  // expects probabilities, but the model outputs logits
  const std::string no_logits = said_during([&] { model_.fit(data_, {.epochs = 2}); });
  EXPECT_THAT(no_logits, HasSubstr("loss 'sparse_categorical_crossentropy' takes probabilities, and predictions"));
  EXPECT_EQ(no_logits.find("takes probabilities"), no_logits.rfind("takes probabilities"));

  model_.compile(SGD({.learning_rate = 1e30}), SparseCategoricalCrossentropy{{.from_logits = true}});
  const std::string not_finite = said_during([&] { model_.fit(data_, {.epochs = 3}); });
  EXPECT_THAT(not_finite, testing::ContainsRegex("the loss of step [1-5] is (nan|-?inf): "));
  EXPECT_EQ(not_finite.find("the loss of step"), not_finite.rfind("the loss of step"));

  Model many = small_model(test::mirrored(3));
  EXPECT_THAT(said_during([&] { many.fit(problem_.dataset().batch(2)); }),
              HasSubstr("global batches of 2 example(s) leave 1 of 3 replicas without work"));
  EXPECT_EQ(said_during([&] { many.fit(problem_.dataset().batch(9), {.verbose = 0}); }), "")
      << "a last batch may be small";

  EXPECT_THAT(said_during([&] { many.fit(data_, {.epochs = 2, .steps_per_epoch = 4}); }),
              HasSubstr("the data ended after 3 of 4 steps of an epoch"));
}

TEST_F(Fit, WarnsOnceOfProbabilitiesForALossOfLogits) {
  const auto said = [&](Activation activation, const Loss& loss, const Dataset& data) {
    const auto inside = strategy_.scope();
    const Symbol input = Input({8});
    Model model(input, Dense({.units = 3, .activation = activation})(input));
    model.compile(SGD(), loss);
    return said_during([&] { model.fit(data, {.epochs = 2, .verbose = 0}); });
  };
  const SparseCategoricalCrossentropy of_logits{{.from_logits = true}};
  const std::string twice = said(Activation::softmax, of_logits, data_);
  EXPECT_THAT(twice, HasSubstr("loss 'sparse_categorical_crossentropy' takes logits, and predictions are the result of "
                               "a softmax, which training applies twice: remove the softmax or from_logits = true"));
  EXPECT_EQ(twice.find("takes logits"), twice.rfind("takes logits"));
  EXPECT_EQ(said(Activation::linear, of_logits, data_), "");
  EXPECT_EQ(said(Activation::softmax, SparseCategoricalCrossentropy(), data_), "");

  const Dataset binary = Dataset::from_tensors(problem_.x, Tensor::zeros({10, 3})).batch(4);
  EXPECT_THAT(said(Activation::sigmoid, BinaryCrossentropy{{.from_logits = true}}, binary),
              HasSubstr("loss 'binary_crossentropy' takes logits, and predictions are the result of a sigmoid"));
}

TEST_F(Fit, ADataSetWithoutEndNeedsStepsPerEpoch) {
  EXPECT_THAT([&] { model_.fit(data_.repeat()); }, ThrowsMessage<InvalidArgument>(HasSubstr("steps_per_epoch")));
  EXPECT_EQ(model_.fit(data_.repeat(), {.epochs = 2, .steps_per_epoch = 5}).epoch.size(), 2U);
}

TEST_F(Fit, RefusesWhatItCannotTrainOn) {
  EXPECT_THAT([&] { model_.fit(data_.take(0)); }, ThrowsMessage<InvalidArgument>(HasSubstr("the data set is empty")));
  EXPECT_THAT([&] { model_.fit(Dataset::from_tensors(problem_.x).batch(4)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("targets")));
  EXPECT_THAT([&] { model_.fit(problem_.dataset()); }, ThrowsMessage<InvalidArgument>(HasSubstr("rows")));
  EXPECT_THROW(model_.fit(data_, {.epochs = 0}), InvalidArgument);
  EXPECT_THROW(model_.fit(data_, {.initial_epoch = -1}), InvalidArgument);
  EXPECT_THROW(model_.fit(data_, {.steps_per_epoch = 0}), InvalidArgument);
  EXPECT_THROW(model_.fit(data_, {.verify_every = -1}), InvalidArgument);
  const auto split = [&](double part) { model_.fit(problem_.x, problem_.y, {.validation_split = part}); };
  EXPECT_THAT([&] { split(1e-20); }, ThrowsMessage<InvalidArgument>(HasSubstr("none of 10 example(s) to validate")));
  EXPECT_THAT([&] { split(0.95); }, ThrowsMessage<InvalidArgument>(HasSubstr("none of 10 example(s) to train on")));
}

TEST_F(Fit, NeedsCompile) {
  const auto inside = strategy_.scope();
  const Symbol input = Input({8});
  Model model(input, Dense({.units = 3})(input));
  EXPECT_THAT([&] { model.fit(data_); }, ThrowsMessage<LogicError>(HasSubstr("compile()")));
  EXPECT_THAT([&] { model.evaluate(data_); }, ThrowsMessage<LogicError>(HasSubstr("compile()")));
  EXPECT_THROW(model.optimizer(), LogicError);
}

// semantics 8.4. TF case 99: a model of another scope (Input has no batch size here, and fit no steps_per_execution)
TEST_F(Fit, WorksInsideItsScopeAndNotInAnother) {
  {
    const auto inside = strategy_.scope();
    model_.fit(data_);
  }
  const auto other = test::mirrored(2).scope();
  EXPECT_THAT([&] { model_.fit(data_); }, ThrowsMessage<LogicError>(HasSubstr("scope of a strategy other")));
}

TEST_F(Fit, InsideAReplicaIsRefused) {
  EXPECT_THROW(strategy_.run([&] { model_.fit(data_); }), LogicError);
}

TEST_F(Fit, AModelMadeOutsideEveryStrategyTrainsOnTheCallingThread) {
  Model alone = small_model(get_strategy());
  Model mirrored = small_model(MirroredStrategy(std::vector{LogicalDevice{}}));
  EXPECT_EQ(alone.fit(data_, {.epochs = 3}).values.at("loss"), mirrored.fit(data_, {.epochs = 3}).values.at("loss"));
  EXPECT_EQ(test::weights_of(alone), test::weights_of(mirrored));
}

TEST_F(Fit, AnErrorInAStepReachesTheCallerAndTheModelCanGoOn) {
  const Tensor wrong = Tensor::full({10}, 3, DType::i64);  // not a valid class
  EXPECT_THAT([&] { model_.fit(Dataset::from_tensors(problem_.x, wrong).batch(4)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("replica ")));
  EXPECT_EQ(model_.fit(data_).epoch.size(), 1U);
}

TEST_F(Fit, ALossThatIsNotFiniteDoesNotEndIt) {
  model_.compile(SGD({.learning_rate = 1e30}), SparseCategoricalCrossentropy{{.from_logits = true}});
  const History history = model_.fit(data_, {.epochs = 3});
  EXPECT_EQ(history.epoch.size(), 3U);
  EXPECT_FALSE(std::isfinite(history.values.at("loss").back()));
}

TEST_F(Fit, EndsWithTheOptimizersAverages) {
  const SmallProblem problem(40);
  Model model = small_model(test::mirrored(2));
  const SGD optimizer({.learning_rate = 0.2}, {.use_ema = true, .ema_momentum = 0.5});
  model.compile(optimizer, SparseCategoricalCrossentropy{{.from_logits = true}});
  model.fit(problem.dataset().batch(10), {.epochs = 2});
  const OptimizerState state = optimizer.state();
  ASSERT_EQ(state.slots.back().name, "average");
  for (std::size_t i = 0; i < model.variables().size(); ++i)
    test::expect_same_bits(model.variables()[i].value(), state.slots.back().values[i]);
}

TEST_F(Fit, AsksTheSystemForNoMemoryAfterWarmUp) {
  struct Counter : Callback {
    void on_train_batch_end(Model& model, const StepReport& report) override {
      if (report.step != 3 && report.step != 9) return;
      for (const LogicalDevice& device : model.strategy().devices())
        (report.step == 3 ? warm : end) += allocator(device).stats().system_allocations;
    }
    std::uint64_t warm = 0;
    std::uint64_t end = 0;
  };
  const auto counter = std::make_shared<Counter>();
  model_.fit(SmallProblem(160).dataset().batch(16), {.callbacks = {counter}});
  EXPECT_GT(counter->warm, 0U);
  EXPECT_EQ(counter->end, counter->warm);
}

}  // namespace
}  // namespace lockstep
