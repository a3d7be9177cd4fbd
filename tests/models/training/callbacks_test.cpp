#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/models/training/callbacks/csv_logger.h>
#include <lockstep/models/training/callbacks/early_stopping.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/callbacks/model_checkpoint.h>
#include <lockstep/models/training/callbacks/reduce_lr_on_plateau.h>
#include <lockstep/models/training/callbacks/terminate_on_nan.h>
#include <lockstep/models/training/model_files.h>

namespace lockstep {
namespace {

using test::SmallProblem;
using testing::ElementsAre;

class KerasCallbacks : public testing::Test {
 protected:
  Model model_ = test::small_model(test::mirrored(2));
  const Dataset data_ = SmallProblem(8).dataset().batch(4);
  const test::TemporaryFolder folder_;

  /// Calls the callback for epochs that end with these values until it stops; returns the number of epochs.
  int epochs_until_stop(EarlyStopping& callback, const std::vector<double>& values, const std::string& name) {
    callback.on_train_begin(model_);
    for (std::size_t epoch = 0; epoch < values.size(); ++epoch) {
      callback.on_epoch_end(model_, static_cast<int>(epoch), {{name, values[epoch]}});
      if (callback.stopped_epoch() > 0) return static_cast<int>(epoch) + 1;
    }
    return 0;
  }

  /// The learning rates after epochs that end with these values.
  std::vector<double> rates(ReduceLROnPlateau& callback, const std::vector<double>& values) {
    std::vector<double> rates;
    callback.on_train_begin(model_);
    for (std::size_t epoch = 0; epoch < values.size(); ++epoch) {
      callback.on_epoch_end(model_, static_cast<int>(epoch), {{"val_loss", values[epoch]}});
      rates.push_back(model_.optimizer().learning_rate());
    }
    return rates;
  }
};

TEST_F(KerasCallbacks, EarlyStoppingWaitsForItsPatience) {
  EarlyStopping none;
  EXPECT_EQ(epochs_until_stop(none, {3, 2, 1}, "val_loss"), 0);
  EXPECT_EQ(epochs_until_stop(none, {3, 2, 2}, "val_loss"), 3);
  EarlyStopping two({.patience = 2});
  EXPECT_EQ(epochs_until_stop(two, {3, 2, 2, 1, 1, 1, 0}, "val_loss"), 6);
  EarlyStopping first_epochs({.start_from_epoch = 3});
  EXPECT_EQ(epochs_until_stop(first_epochs, {1, 2, 3, 4, 5}, "val_loss"), 5);
}

TEST_F(KerasCallbacks, EarlyStoppingCountsChangesOfAtLeastMinDelta) {
  EarlyStopping coarse({.min_delta = -0.5});
  EXPECT_EQ(epochs_until_stop(coarse, {3, 2.4, 2}, "val_loss"), 3);
  EarlyStopping rising({.monitor = "val_accuracy", .min_delta = 0.1});
  EXPECT_EQ(epochs_until_stop(rising, {0.5, 0.7, 0.9, 0.95}, "val_accuracy"), 4);
}

TEST_F(KerasCallbacks, EarlyStoppingWaitsUntilTheBaselineIsReachedToo) {
  EarlyStopping never_there({.patience = 3, .baseline = 1});
  EXPECT_EQ(epochs_until_stop(never_there, {5, 4, 3, 3}, "val_loss"), 4);
  EarlyStopping there({.patience = 3, .baseline = 1});
  EXPECT_EQ(epochs_until_stop(there, {5, 0.5, 3, 3, 3}, "val_loss"), 5);
}

TEST_F(KerasCallbacks, EarlyStoppingRestoresTheBestEpochsWeights) {
  const auto stop = std::make_shared<EarlyStopping>(
      EarlyStoppingOptions{.monitor = "score", .mode = MonitorMode::max, .restore_best_weights = true});
  std::vector<std::vector<std::vector<double>>> weights;
  const auto keep =
      std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_epoch_end = [&](Model& model, int epoch, const Logs&) {
        weights.push_back(test::weights_of(model));
        stop->on_epoch_end(model, epoch, {{"score", epoch == 1 ? 2 : 1}});
      }});
  // `keep` provides the score, so that fit's own logs, which lack it, have no effect.
  const History history = model_.fit(data_, {.epochs = 9, .callbacks = {keep, stop}});
  EXPECT_EQ(history.epoch.size(), 3U);
  EXPECT_EQ(test::weights_of(model_), weights[1]);
  EXPECT_NE(weights[1], weights[2]);
}

TEST_F(KerasCallbacks, MonitorsWhatTheModelTellsTheDirectionOf) {
  EarlyStopping unknown({.monitor = "learning_rate"});
  EXPECT_ERROR(InvalidArgument, "whether 'learning_rate' gets better", unknown.on_train_begin(model_));
  EarlyStopping misspelt({.monitor = "val_acuracy"});
  EXPECT_ERROR(
      InvalidArgument,
      "monitors 'val_acuracy', which this model does not have: there are loss, accuracy, val_loss, val_accuracy",
      misspelt.on_train_begin(model_));
  EarlyStopping with_mode({.monitor = "learning_rate", .mode = MonitorMode::min});
  EXPECT_NO_THROW(with_mode.on_train_begin(model_));
  EXPECT_NO_THROW(with_mode.on_epoch_end(model_, 0, {{"loss", 1}}));  // only warns
}

TEST_F(KerasCallbacks, ReduceLROnPlateauReducesAfterItsPatience) {
  ReduceLROnPlateau callback({.factor = 0.5, .patience = 2, .min_lr = 0.06});
  EXPECT_THAT(rates(callback, {3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1}),
              ElementsAre(0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.06, 0.06, 0.06, 0.06, 0.06));
}

TEST_F(KerasCallbacks, ReduceLROnPlateauCoolsDown) {
  ReduceLROnPlateau callback({.factor = 0.5, .patience = 1, .cooldown = 2});
  EXPECT_THAT(rates(callback, {2, 2, 2, 2, 2}), ElementsAre(0.2, 0.1, 0.1, 0.05, 0.05));
  EXPECT_THROW(ReduceLROnPlateau({.factor = 1}), InvalidArgument);
}

TEST_F(KerasCallbacks, ModelCheckpointSavesEachEpochUnderItsName) {
  const auto checkpoint = std::make_shared<ModelCheckpoint>(folder_ / "run/{epoch:02d}-{loss:.3f}.weights.h5");
  const History history = model_.fit(data_, {.epochs = 2, .callbacks = {checkpoint}});
  const auto name = [&](int epoch) {
    return fmt::format("{:02d}-{:.3f}.weights.h5", epoch + 1,
                       history.values.at("loss")[static_cast<std::size_t>(epoch)]);
  };
  const auto last = test::weights_of(model_);
  model_.load_weights(folder_ / "run/" + name(0));
  EXPECT_NE(test::weights_of(model_), last);
  model_.load_weights(folder_ / "run/" + name(1));
  EXPECT_EQ(test::weights_of(model_), last);
}

TEST_F(KerasCallbacks, ModelCheckpointSavesTheBestOnly) {
  ModelCheckpoint best(folder_ / "{epoch}.weights.h5",
                       {.monitor = "val_accuracy", .save_best_only = true, .initial_value_threshold = 0.3});
  best.on_train_begin(model_);
  const std::vector<double> accuracies{0.2, 0.5, 0.5, 0.6, 0.1};
  for (int epoch = 0; epoch < 5; ++epoch) {
    best.on_epoch_begin(model_, {.epoch = epoch});
    best.on_epoch_end(model_, epoch, {{"val_accuracy", accuracies[static_cast<std::size_t>(epoch)]}});
  }
  EXPECT_THAT(folder_.names(), ElementsAre("2.weights.h5", "4.weights.h5"));
}

TEST_F(KerasCallbacks, ModelCheckpointKeepsTheBestWhereTheValueIsMissing) {
  const std::string file = folder_ / "best.weights.h5";
  ModelCheckpoint best(file, {.save_best_only = true});
  best.on_train_begin(model_);
  best.on_epoch_end(model_, 0, {{"loss", 1}});
  EXPECT_TRUE(std::filesystem::exists(file)) << "rather a file than none";
  best.on_epoch_end(model_, 1, {{"loss", 1}, {"val_loss", 2}});
  const std::string content = test::contents_of(file);
  model_.fit(data_);
  best.on_epoch_end(model_, 2, {{"loss", 1}});
  EXPECT_EQ(test::contents_of(file), content);
}

TEST_F(KerasCallbacks, TheBestWeightsStayWhenTrainingStopsWithinAnEpoch) {
  for (const auto stop : {&Model::stop_training, &Model::interrupt_training}) {
    const std::string file = folder_ / "best.weights.h5";
    const auto best = std::make_shared<ModelCheckpoint>(file, ModelCheckpointOptions{.save_best_only = true});
    std::vector<double> losses;
    const auto spoil = std::make_shared<LambdaCallback>(LambdaCallbackOptions{
        .on_train_batch_end =
            [&](Model& model, const StepReport& report) {
              if (report.step != 3) return;
              std::vector<Tensor> weights = model.get_weights();
              for (Tensor& weight : weights) weight = Tensor::full(weight.shape(), 1000);
              model.set_weights(weights);
              (model.*stop)();
            },
        .on_epoch_end = [&](Model&, int, const Logs& logs) { losses.push_back(logs.at("val_loss")); }});
    model_.fit(data_, {.epochs = 3, .validation = data_, .callbacks = {best, spoil}});
    model_.load_weights(file);
    EXPECT_FLOAT_EQ(static_cast<float>(model_.evaluate(data_).at("loss")), static_cast<float>(losses.front()));
  }
}

TEST_F(KerasCallbacks, ModelCheckpointSavesEverySoManySteps) {
  const auto checkpoint = std::make_shared<ModelCheckpoint>(folder_ / "{epoch}-{batch}.safetensors",
                                                            ModelCheckpointOptions{.save_freq = 3});
  model_.fit(data_, {.epochs = 3, .callbacks = {checkpoint}});
  EXPECT_THAT(folder_.names(), ElementsAre("2-1.safetensors", "3-2.safetensors"));
  EXPECT_NO_THROW(model_.load_weights(folder_ / "3-2.safetensors"));
}

TEST_F(KerasCallbacks, ModelCheckpointSavesWholeModels) {
  for (const std::string name : {"{epoch}.keras", "{epoch}.h5"})
    model_.fit(data_, {.epochs = 2, .callbacks = {std::make_shared<ModelCheckpoint>(folder_ / name)}});
  EXPECT_THAT(folder_.names(), ElementsAre("1.h5", "1.keras", "2.h5", "2.keras"));
  const MirroredStrategy strategy = test::mirrored(2);
  const Model last = strategy.scope([&] { return load_model(folder_ / "2.h5"); });
  EXPECT_EQ(test::weights_of(last), test::weights_of(model_));
  EXPECT_EQ(last.optimizer().iterations(), model_.optimizer().iterations());
}

TEST_F(KerasCallbacks, ModelCheckpointRefusesPathsItCannotUse) {
  EXPECT_ERROR(InvalidArgument, ".weights.h5, .safetensors, .keras or .h5, got model.txt",
               ModelCheckpoint("model.txt"));
  EXPECT_ERROR(InvalidArgument, "save_freq", ModelCheckpoint("a.weights.h5", {.save_freq = 0}));
  ModelCheckpoint unknown(folder_ / "{precision}.weights.h5");
  EXPECT_ERROR(InvalidArgument, "{precision}", unknown.on_epoch_end(model_, 0, {{"loss", 1}}));
  ModelCheckpoint nowhere("/proc/none/a.weights.h5");
  EXPECT_ERROR(InputError, "/proc/none/a.weights.h5: its folder", nowhere.on_epoch_end(model_, 0, {}));
}

TEST_F(KerasCallbacks, CsvLoggerWritesALineForEachEpoch) {
  const std::string path = folder_ / "log.csv";
  CSVLogger logger(path);
  logger.on_train_begin(model_);
  logger.on_epoch_begin(model_, {.epoch = 0});
  logger.on_epoch_end(model_, 0, {{"loss", 0.1}, {"val_loss", 0.25}});
  EXPECT_EQ(test::contents_of(path), "epoch,loss,val_loss\n0,0.1,0.25\n");  // readable before training ends
  logger.on_epoch_begin(model_, {.epoch = 1});
  logger.on_epoch_end(model_, 1, {{"accuracy", 1}, {"loss", std::nan("")}});
  logger.on_train_end(model_);
  EXPECT_EQ(test::contents_of(path), "epoch,loss,val_loss\n0,0.1,0.25\n1,nan,NA\n");
}

TEST_F(KerasCallbacks, CsvLoggerHasColumnsForAValidationThatTheFirstEpochsLack) {
  const std::string path = folder_ / "log.csv";
  CSVLogger logger(path);
  logger.on_train_begin(model_);
  logger.on_epoch_begin(model_, {.epoch = 0, .validation = true});
  logger.on_epoch_end(model_, 0, {{"learning_rate", 1}, {"loss", 2}});
  logger.on_epoch_end(model_, 1, {{"learning_rate", 1}, {"loss", 3}, {"val_loss", 4}});
  logger.on_train_end(model_);
  EXPECT_EQ(test::contents_of(path), "epoch,learning_rate,loss,val_loss\n0,1,2,NA\n1,1,3,4\n");
}

TEST_F(KerasCallbacks, CsvLoggerQuotesNamesThatWouldBeSeveralFields) {
  const std::string path = folder_ / "log.csv";
  const Logs logs{{"a,b", 1}, {"c\"d", 2}, {"e", 3}, {"f\ng", 4}};
  for (const bool append : {false, true}) {
    CSVLogger logger(path, {.append = append});
    logger.on_train_begin(model_);
    logger.on_epoch_begin(model_, {.epoch = 0});
    logger.on_epoch_end(model_, 0, logs);
    logger.on_train_end(model_);
  }
  EXPECT_EQ(test::contents_of(path), "epoch,\"a,b\",\"c\"\"d\",e,\"f\ng\"\n0,1,2,3,4\n0,1,2,3,4\n");
  test::write_text(path, "epoch,\"loss\n0,1\n");
  CSVLogger logger(path, {.append = true});
  logger.on_train_begin(model_);
  EXPECT_ERROR(InputError, path + ": line 1: a quotation mark is not closed", logger.on_epoch_begin(model_, {}));
}

TEST_F(KerasCallbacks, CsvLoggerKeepsTheEpochsBeforeTheOneThatARunResumesWith) {
  const std::string path = folder_ / "log.csv";
  const auto resume = [&](const std::string& content, bool append = false) {
    test::write_text(path, content);
    CSVLogger logger(path, {.append = append});
    logger.on_train_begin(model_);
    logger.on_epoch_begin(model_, {.epoch = 2, .resumed = true});
    logger.on_epoch_end(model_, 2, {{"accuracy", 1}, {"loss", 7}});
    logger.on_train_end(model_);
    return test::contents_of(path);
  };
  const std::string kept = "epoch,loss\n0,9\n1,8\n";
  for (const char* superseded : {"", "2,6\n", "2,6\n3,5\n", "2,"}) EXPECT_EQ(resume(kept + superseded), kept + "2,7\n");
  EXPECT_EQ(resume("epoch,loss\n0,9\n1,8\n2,6\n0,9\n1,8\n2,1\n", true),  // the same file also has an earlier run
            "epoch,loss\n0,9\n1,8\n2,6\n0,9\n1,8\n2,7\n");
  EXPECT_EQ(resume(""), "epoch,accuracy,loss\n2,1,7\n");
}

TEST_F(KerasCallbacks, CsvLoggerAppendsWhenAsked) {
  const std::string path = folder_ / "log.csv";
  for (const bool append : {true, true, false}) {
    CSVLogger logger(path, {.separator = ';', .append = append});
    for (int fits = 0; fits < 2; ++fits) {
      logger.on_train_begin(model_);
      logger.on_epoch_begin(model_, {.epoch = fits});
      logger.on_epoch_end(model_, fits, {{"loss", 2}});
      logger.on_train_end(model_);
    }
    const std::string appended = "epoch;loss\n0;2\n1;2\n";
    EXPECT_TRUE(append ? test::contents_of(path).starts_with(appended)
                       : test::contents_of(path) == "epoch;loss\n1;2\n");
  }
  EXPECT_ERROR(InputError, "/none/log.csv: cannot be written: No such file or directory",
               CSVLogger(folder_ / "none/log.csv").on_train_begin(model_));
  CSVLogger full("/dev/full");
  full.on_train_begin(model_);
  full.on_epoch_begin(model_, {.epoch = 0});
  EXPECT_ERROR(InputError, "/dev/full: cannot be written: No space left on device",
               full.on_epoch_end(model_, 0, {{"loss", 1}}));
}

TEST_F(KerasCallbacks, TerminateOnNaNStopsAfterTheStep) {
  model_.compile(SGD({.learning_rate = 1e30}), SparseCategoricalCrossentropy{{.from_logits = true}});
  std::vector<double> losses;
  const auto keep = std::make_shared<LambdaCallback>(LambdaCallbackOptions{
      .on_train_batch_end = [&](Model&, const StepReport& report) { losses.push_back(report.loss); }});
  model_.fit(data_, {.epochs = 9, .callbacks = {std::make_shared<TerminateOnNaN>(), keep}});
  ASSERT_LT(losses.size(), 18U);
  EXPECT_FALSE(std::isfinite(losses.back()));
  losses.pop_back();
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
}

TEST_F(KerasCallbacks, LambdaCallbackCallsWhatItIsGiven) {
  std::string calls;
  const auto callback = std::make_shared<LambdaCallback>(LambdaCallbackOptions{
      .on_train_begin = [&](Model&) { calls += "begin "; },
      .on_epoch_begin = [&](Model&, const EpochPlan& plan) { calls += fmt::format("epoch {} ", plan.epoch); },
      .on_train_batch_end = [&](Model&, const StepReport& report) { calls += fmt::format("step {} ", report.step); },
      .on_epoch_end = [&](Model&, int epoch, const Logs&) { calls += fmt::format("end {} ", epoch); },
      .on_train_end = [&](Model&) { calls += "over"; }});
  model_.fit(data_, {.callbacks = {callback, std::make_shared<LambdaCallback>(LambdaCallbackOptions{})}});
  EXPECT_EQ(calls, "begin epoch 0 step 0 step 1 end 0 over");
}

}  // namespace
}  // namespace lockstep
