#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/small_problem.h>
#include <support/workers.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/checkpoint.h>

// The events of callbacks with several workers (see support/workers.h), compared with those of one process.

namespace lockstep {
namespace {

using test::SmallProblem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Records its events with their numbers, and their values that are equal on all workers.
struct EventRecord : Callback {
  explicit EventRecord(bool on_chief_only = false) : on_chief_only_(on_chief_only) {}

  bool chief_only() const override { return on_chief_only_; }
  void on_train_begin(Model&) override { add("train"); }
  void on_epoch_begin(Model&, const EpochPlan& plan) override {
    add(fmt::format("epoch {} of {}, {} steps from {}{}", plan.epoch, plan.epochs, plan.steps, plan.first_step,
                    plan.validation ? ", validation" : ""));
  }
  void on_train_batch_begin(Model&, std::int64_t batch) override { add(fmt::format("step {} begins", batch)); }
  void on_train_batch_end(Model&, const StepReport& report) override {
    Logs values = report.running;
    values["loss of the step"] = report.loss;
    values["learning rate"] = report.learning_rate;
    add(fmt::format("step {}, {} of all: {} examples, rows {}", report.step_in_epoch, report.step, report.examples,
                    fmt::join(report.rows, " ")),
        values);
  }
  void on_epoch_end(Model&, int epoch, const Logs& values) override {
    Logs of_all = values;
    EXPECT_EQ(of_all.erase("epoch_s") + of_all.erase("examples_per_s"), 2U);  // measured by each worker
    add(fmt::format("epoch {} ends", epoch), of_all);
  }
  void on_train_end(Model&) override { add("train ends"); }
  void on_test_begin(Model&) override { add("test"); }
  void on_test_batch_begin(Model&, std::int64_t batch) override { add(fmt::format("test {} begins", batch)); }
  void on_test_batch_end(Model&, const TestBatchReport& report) override {
    add(fmt::format("test {}: {} examples", report.batch, report.examples));
    running.push_back(report.running());
  }
  void on_test_end(Model&, const Logs& values) override { add("test ends", values); }
  void on_predict_begin(Model&) override { add("predict"); }
  void on_predict_batch_begin(Model&, std::int64_t batch) override { add(fmt::format("predict {} begins", batch)); }
  void on_predict_batch_end(Model&, const PredictBatchReport& report) override {
    add(fmt::format("predict {}: {} examples", report.batch, report.examples));
    outputs.push_back(report.outputs().front());
  }
  void on_predict_end(Model&) override { add("predict ends"); }

  std::vector<std::string> lines;
  std::vector<Logs> logs;       ///< of each line
  std::vector<Logs> running;    ///< of each batch of a test
  std::vector<Tensor> outputs;  ///< of each batch of a prediction

 private:
  void add(const std::string& line, const Logs& values = {}) {
    lines.push_back(line);
    logs.push_back(values);
  }

  bool on_chief_only_;
};

class CallbacksOfWorkers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(cluster_, nullptr) << "start this program with mpirun"; }

  /// Two epochs of training on 22 examples with a validation on 5, after the second one; an evaluation, a prediction.
  /// The last batches are smaller than the others: the last of the evaluation has one row.
  std::shared_ptr<EventRecord> events_of(Model model) const {
    auto record = std::make_shared<EventRecord>();
    model.fit(data_.dataset().shuffle({.seed = 4}).batch(8), {.epochs = 2,
                                                              .validation = SmallProblem(5, 2).dataset().batch(4),
                                                              .validation_freq = 2,
                                                              .callbacks = {record, chiefs_},
                                                              .verbose = 0});
    const Logs result = model.evaluate(data_.dataset().batch(7), {.verbose = 0, .callbacks = {record}});
    EXPECT_EQ(record->logs.back(), result);
    const Tensor outputs = model.predict(data_.x, {.batch_size = 16, .verbose = 0, .callbacks = {record}});
    test::expect_same_bits(concatenate(record->outputs, 0), outputs);
    return record;
  }
  /// Checks that an event that throws on `worker` ends `call` on all, with errors that name it.
  void expect_end(int worker, const LambdaCallbackOptions& events,
                  const std::function<void(Model&, const std::shared_ptr<Callback>&)>& call, const char* caller) const {
    SCOPED_TRACE(caller);
    const MultiWorkerMirroredStrategy strategy = test::workers();
    Model model = test::small_model(strategy);
    const auto callback =
        std::make_shared<LambdaCallback>(cluster_->rank() == worker ? events : LambdaCallbackOptions{});
    if (cluster_->rank() == worker) {
      EXPECT_EQ(test::error_of<std::out_of_range>([&] { call(model, callback); }), "the callback's own");
    } else {
      EXPECT_THAT(test::error_of<WorkerFailed>([&] { call(model, callback); }),
                  AllOf(HasSubstr(fmt::format("worker {} (host ", worker)),
                        HasSubstr(fmt::format("failed: a callback of {}: the callback's own", caller))));
    }
  }

  const MultiWorkerMirroredStrategy strategy_ = test::workers();
  Cluster* const cluster_ = strategy_.state()->cluster();
  const MirroredStrategy one_process_{logical_cpus(strategy_.num_replicas_in_sync())};
  const SmallProblem data_{22};
  const std::shared_ptr<EventRecord> chiefs_ = std::make_shared<EventRecord>(true);
};

TEST_F(CallbacksOfWorkers, HaveTheSameNumbersAndValuesOnAllAndInOneProcess) {
  const auto record = events_of(test::small_model(strategy_));
  EXPECT_EQ(chiefs_->lines.empty(), !cluster_->is_chief());
  cluster_->agree("the events", "they are", fmt::format("{}", fmt::join(record->lines, "; ")));
  std::string values;
  for (const Logs& logs : record->logs)
    for (const auto& [name, value] : logs) values += fmt::format("{} {:a}; ", name, value);
  cluster_->agree("the values", "they are", values);

  const auto expected = events_of(test::small_model(one_process_));
  EXPECT_EQ(record->lines, expected->lines);
  ASSERT_EQ(record->logs.size(), expected->logs.size());
  for (std::size_t i = 0; i < expected->logs.size(); ++i) {
    ASSERT_EQ(record->logs[i].size(), expected->logs[i].size()) << expected->lines[i];
    for (const auto& [name, value] : expected->logs[i])
      EXPECT_NEAR(record->logs[i].at(name), value, 1e-5) << expected->lines[i] << ", " << name;
  }
}

TEST_F(CallbacksOfWorkers, ComeInOrder) {
  const auto record = events_of(test::small_model(strategy_));
  std::vector<std::string> events;
  for (const std::string& line : record->lines) events.push_back(line.substr(0, line.find_first_of(",:")));
  EXPECT_THAT(events,
              ElementsAre("train", "epoch 0 of 2", "step 0 begins", "step 0", "step 1 begins", "step 1",
                          "step 2 begins", "step 2", "epoch 0 ends", "epoch 1 of 2", "step 0 begins", "step 0",
                          "step 1 begins", "step 1", "step 2 begins", "step 2", "test", "test 0 begins", "test 0",
                          "test 1 begins", "test 1", "test ends", "epoch 1 ends", "train ends",  //
                          "test", "test 0 begins", "test 0", "test 1 begins", "test 1", "test 2 begins", "test 2",
                          "test 3 begins", "test 3", "test ends",  //
                          "predict", "predict 0 begins", "predict 0", "predict 1 begins", "predict 1", "predict ends"));
  EXPECT_THAT(record->lines, testing::Contains(HasSubstr("step 2, 5 of all: 6 examples, rows ")));
}

TEST_F(CallbacksOfWorkers, GetTheValuesSoFarOfTheirOwnReplicasInATest) {
  const Model model = test::small_model(strategy_);
  const auto record = std::make_shared<EventRecord>();
  const Logs of_all = model.evaluate(data_.dataset().take(1).batch(1), {.verbose = 0, .callbacks = {record}});
  ASSERT_EQ(record->running.size(), 1U);
  EXPECT_EQ(record->running[0], cluster_->is_chief() ? of_all : Logs()) << "the row is the first replica's";
}

TEST_F(CallbacksOfWorkers, ThatThrowOnOneEndAll) {
  const auto fails = [](auto&&...) { throw std::out_of_range("the callback's own"); };
  const Dataset batches = data_.dataset().batch(8);
  const auto trains = [&](Model& model, const std::shared_ptr<Callback>& callback) {
    model.fit(batches, {.epochs = 2, .validation = batches, .callbacks = {callback}, .verbose = 0});
  };
  const auto evaluates = [&](Model& model, const std::shared_ptr<Callback>& callback) {
    (void)model.evaluate(batches, {.verbose = 0, .callbacks = {callback}});
  };
  const auto predicts = [&](Model& model, const std::shared_ptr<Callback>& callback) {
    (void)model.predict(data_.x, {.batch_size = 8, .verbose = 0, .callbacks = {callback}});
  };
  const int last = cluster_->size() - 1;
  expect_end(last, {.on_train_begin = fails}, trains, "fit()");
  expect_end(last, {.on_train_batch_end = fails}, trains, "fit()");
  expect_end(0, {.on_epoch_end = fails}, trains, "fit()");
  expect_end(last, {.on_test_batch_begin = fails}, trains, "evaluate()");
  expect_end(last, {.on_test_batch_end = fails}, evaluates, "evaluate()");
  expect_end(0, {.on_predict_batch_begin = fails}, predicts, "predict()");
}

TEST_F(CallbacksOfWorkers, ThatThrowOtherObjectsEndAll) {
  Model model = test::small_model(strategy_);
  const int last = cluster_->size() - 1;
  const auto fails = std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_train_begin = [&](auto&&...) {
    if (cluster_->rank() == last) throw 1;
  }});
  const auto trains = [&] { model.fit(data_.dataset().batch(8), {.callbacks = {fails}, .verbose = 0}); };
  if (cluster_->rank() == last)
    EXPECT_THROW(trains(), int);
  else
    EXPECT_THAT(test::error_of<WorkerFailed>(trains), HasSubstr("a callback of fit(): an exception of unknown type"));
}

TEST_F(CallbacksOfWorkers, ThatThrowTogetherEndNothingElse) {
  Model model = test::small_model(strategy_);
  const auto saves =
      std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_train_batch_end = [&](Model& of, const StepReport&) {
        Checkpoint(strategy_).add("model", of).write("/proc/none/c.h5");  // only the chief's write fails
      }});
  const Dataset batches = data_.dataset().batch(8);
  EXPECT_THROW(model.fit(batches, {.callbacks = {saves}, .verbose = 0}), InputError);
  EXPECT_EQ(model.fit(batches, {.verbose = 0}).epoch.size(), 1U);
}

}  // namespace
}  // namespace lockstep
