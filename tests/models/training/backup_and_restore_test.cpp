#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/layers/simple_rnn.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/early_stopping.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/callbacks/learning_rate_scheduler.h>
#include <lockstep/models/training/callbacks/reduce_lr_on_plateau.h>

namespace lockstep {
namespace {

using test::SmallProblem;

/// Every replica's copy of every variable.
using Copies = std::vector<std::vector<float>>;

Copies copies_of(const Model& model) {
  Copies copies;
  for (const Variable& variable : model.variables())
    for (const Tensor& copy : variable.state().copies()) copies.push_back(copy.to_vector<float>());
  return copies;
}

/// Results of a run, bit for bit.
struct Outcome {
  Copies trained;   ///< after the last step
  Copies restored;  ///< after EarlyStopping has restored the best epoch
  std::map<std::string, std::vector<double>> history;
  double learning_rate;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// A training program with all kinds of state that a backup must keep.
class Program {
 public:
  explicit Program(std::string folder, BackupAndRestoreOptions options = {})
      : folder_(std::move(folder)), options_(options) {}

  /// Called after each step.
  std::function<void(Model&, const StepReport&)> at_step{};
  std::function<void(Model&)> at_start{};                       ///< called by on_train_begin
  std::function<void(Model&, const EpochPlan&)> at_epoch{};     ///< called by on_epoch_begin
  std::function<void(Model&, int, const Logs&)> after_epoch{};  ///< called by on_epoch_end
  int replicas = 2;
  int epochs = 5;
  std::int64_t batch_size = 7;
  std::int64_t units = 16;
  DTypePolicy policy = DTypePolicy::float32;
  std::vector<Metric> metrics{Accuracy()};
  std::optional<std::int64_t> steps_per_epoch{};

  Outcome run() const {
    const MirroredStrategy strategy = test::mirrored(replicas);
    Model model = strategy.scope([&] { return make_model(); });
    model.compile(Adam({.learning_rate = 0.02}), SparseCategoricalCrossentropy{{.from_logits = true}}, metrics);
    const Dataset data = SmallProblem(30).dataset().shuffle({.seed = 3}).batch(batch_size);
    Copies trained;
    FitOptions fit{.epochs = epochs, .steps_per_epoch = steps_per_epoch, .validation = data};
    fit.callbacks = {
        std::make_shared<LearningRateScheduler>([](int, double rate) { return rate * 0.9; }),
        std::make_shared<BackupAndRestore>(folder_, options_),
        std::make_shared<ReduceLROnPlateau>(ReduceLROnPlateauOptions{.factor = 0.5, .patience = 2, .min_delta = 10}),
        std::make_shared<LambdaCallback>(
            LambdaCallbackOptions{.on_train_begin = at_start,
                                  .on_epoch_begin = at_epoch,
                                  .on_train_batch_end = at_step,
                                  .on_epoch_end = after_epoch,
                                  .on_train_end = [&](Model&) { trained = copies_of(model); }}),
        std::make_shared<EarlyStopping>(
            EarlyStoppingOptions{.min_delta = 10, .patience = 4, .restore_best_weights = true})};
    std::map<std::string, std::vector<double>> history = model.fit(data, fit).values;
    history.erase("epoch_s");
    history.erase("examples_per_s");
    return {trained, copies_of(model), history, model.optimizer().learning_rate()};
  }

 private:
  Model make_model() const {
    const DTypePolicyScope scope(policy);
    const Symbol input = Input({8});
    const SimpleRNN recurrent({.units = 3, .dropout = 0.2, .recurrent_dropout = 0.3});
    const Symbol steps = Bidirectional(recurrent)(Reshape({.target_shape = {2, 4}})(input));
    const Symbol joined = Concatenate()({input, steps});
    const Symbol hidden = BatchNormalization()(Dense({.units = units, .activation = Activation::relu})(joined));
    return Model(input, Dense({.units = 3})(Dropout({.rate = 0.3})(hidden)), {.seed = 5});
  }

  std::string folder_;
  BackupAndRestoreOptions options_;
};

/// Interrupts training like Ctrl-C.
void stop_at(Program& program, std::int64_t step) {
  program.at_step = [step](Model& model, const StepReport& report) {
    if (report.step == step) model.stop_training();
  };
}

class Backup : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string backup_ = folder_ / "backup";
  const Outcome straight_ = Program(folder_ / "unused").run();
};

/// The folder that this program shares with the killed one, which is this test in another process.
std::string shared_folder() {
  const char* const variable = "LOCKSTEP_TEST_BACKUP_FOLDER";
  if (std::getenv(variable) == nullptr) {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep-backup-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name);
    ::setenv(variable, name.c_str(), 1);
  }
  return std::getenv(variable);
}

TEST(BackupDeathTest, ARunThatWasKilledGoesOnToTheSameBits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string folder = shared_folder();
  Program program(folder);
  program.at_step = [](Model&, const StepReport& report) {
    if (report.step == 12) std::raise(SIGKILL);
  };
  EXPECT_EXIT(program.run(), testing::KilledBySignal(SIGKILL), "");

  EXPECT_TRUE(std::filesystem::exists(folder + "/training_metadata.json"));
  std::int64_t first_step = -1;
  program.at_step = [&](Model&, const StepReport& report) {
    if (first_step < 0) first_step = report.step;
  };
  const Outcome resumed = program.run();
  EXPECT_EQ(first_step, 10);  // the first step of the epoch in which it was killed
  const test::TemporaryFolder other;
  EXPECT_EQ(resumed, Program(other / "backup").run());
  std::filesystem::remove_all(folder);
}

TEST_F(Backup, ARunThatWasStoppedInAnyEpochGoesOnToTheSameBits) {
  for (const std::int64_t step : {5, 9, 24}) {  // the last two: in the last step of an epoch, which is then incomplete
    Program program(backup_);
    stop_at(program, step);
    EXPECT_EQ(program.run() == straight_, step == 24) << "stopped in the last step of all";
    program.at_step = {};
    EXPECT_EQ(program.run(), straight_) << step;
    EXPECT_FALSE(std::filesystem::exists(backup_)) << "deleted when training has ended";
  }
}

TEST_F(Backup, WhenStoppedIsOfTheStepInHand) {
  for (const std::int64_t step : {0, 5, 9, 24}) {
    Program program(backup_, {.save_when_stopped = true});
    stop_at(program, step);
    program.run();
    std::int64_t first_step = -1;
    program.at_step = [&](Model&, const StepReport& report) {
      if (first_step < 0) first_step = report.step;
    };
    EXPECT_EQ(program.run(), straight_) << step;
    EXPECT_EQ(first_step, step == 24 ? -1 : step + 1);
    EXPECT_FALSE(std::filesystem::exists(backup_)) << "deleted when training has ended";
  }
}

TEST_F(Backup, IsKeptIfTheRunIsInterruptedBetweenEpochs) {
  for (const std::optional<std::int64_t> save_freq : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{3}})
    for (const bool at_end : {false, true}) {
      SCOPED_TRACE(fmt::format("save_freq {}, at an epoch's {}", save_freq.value_or(0), at_end ? "end" : "begin"));
      Program program(backup_, {.save_freq = save_freq, .save_when_stopped = true});
      if (at_end)
        program.after_epoch = [](Model& model, int epoch, const Logs&) {
          if (epoch == 1) model.interrupt_training();
        };
      else
        program.at_epoch = [](Model& model, const EpochPlan& plan) {
          if (plan.epoch == 2) model.interrupt_training();
        };
      program.run();
      EXPECT_TRUE(std::filesystem::exists(backup_));
      program.at_epoch = nullptr;
      program.after_epoch = nullptr;
      program.at_start = [](Model& model) { model.interrupt_training(); };  // before any epoch
      program.run();
      EXPECT_TRUE(std::filesystem::exists(backup_));
      program.at_start = nullptr;
      std::int64_t first_step = -1;
      program.at_step = [&](Model&, const StepReport& report) {
        if (first_step < 0) first_step = report.step;
      };
      EXPECT_EQ(program.run(), straight_);
      EXPECT_EQ(first_step, save_freq && !at_end ? 9 : 10) << "callbacks had begun the next epoch";
      EXPECT_FALSE(std::filesystem::exists(backup_)) << "deleted when training has ended";
    }
}

TEST_F(Backup, IsDeletedIfTrainingIsStoppedAtTheBeginOfAnEpoch) {
  Program program(backup_, {.save_when_stopped = true});
  program.at_epoch = [](Model& model, const EpochPlan& plan) {
    if (plan.epoch == 2) model.stop_training();
  };
  program.run();
  EXPECT_FALSE(std::filesystem::exists(backup_));
}

TEST_F(Backup, IsNotMadeIfTheRunIsInterruptedBeforeItsFirstStep) {
  for (const bool at_start : {false, true}) {
    Program program(backup_, {.save_when_stopped = true});
    if (at_start)
      program.at_start = [](Model& model) { model.interrupt_training(); };
    else
      program.at_epoch = [](Model& model, const EpochPlan&) { model.interrupt_training(); };
    program.run();
    EXPECT_FALSE(std::filesystem::exists(backup_));
  }
}

TEST_F(Backup, OfEverySoManyStepsGoesOnWithinAnEpoch) {
  for (const std::int64_t step : {2, 7, 12, 14}) {
    Program program(backup_, {.save_freq = 3});
    stop_at(program, step);
    program.run();
    std::int64_t first_step = -1;
    program.at_step = [&](Model&, const StepReport& report) {
      if (first_step < 0) first_step = report.step;
    };
    EXPECT_EQ(program.run(), straight_) << step;
    EXPECT_EQ(first_step, (step + 1) / 3 * 3);
  }
}

TEST_F(Backup, ARunThatIsStoppedTwiceGoesOnTwice) {
  Program program(backup_);
  for (const std::int64_t step : {6, 13}) {
    stop_at(program, step);
    program.run();
  }
  program.at_step = {};
  EXPECT_EQ(program.run(), straight_);
}

TEST_F(Backup, KeepsThePlaceInPassesThatFollowOneAnother) {
  Program whole(folder_ / "unused");
  whole.steps_per_epoch = 3;
  const Outcome expected = whole.run();
  for (const std::optional<std::int64_t> save_freq : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{2}}) {
    Program program(backup_, {.save_freq = save_freq});
    program.steps_per_epoch = 3;
    stop_at(program, 8);
    program.run();
    program.at_step = {};
    EXPECT_EQ(program.run(), expected);
  }
}

TEST_F(Backup, IsKeptWhenAskedAndThenThereIsNothingLeftToDo) {
  Program program(backup_, {.delete_checkpoint = false});
  const Outcome first = program.run();
  EXPECT_EQ(first, straight_);
  program.at_step = [](Model&, const StepReport&) { FAIL() << "no step is left"; };
  EXPECT_EQ(program.run().history, first.history);
}

TEST_F(Backup, OfARunThatWasStoppedEarlyHasNothingLeftToDo) {
  Program program(backup_, {.delete_checkpoint = false});
  program.epochs = 9;
  const Outcome stopped = program.run();
  EXPECT_EQ(stopped.history.at("loss").size(), 5U) << "EarlyStopping's patience is 4";
  program.at_step = [](Model&, const StepReport& report) { ADD_FAILURE() << "trains step " << report.step; };
  EXPECT_EQ(program.run(), stopped);
}

TEST_F(Backup, OfAnotherProgramIsRefused) {
  Program program(backup_);
  stop_at(program, 12);
  program.run();
  Program wider = program;
  wider.units = 17;
  EXPECT_ERROR(InputError, "weight 'dense/kernel' has shape (14, 16), not (14, 17)", wider.run());
  Program mixed = program;
  mixed.policy = DTypePolicy::mixed_bfloat16;
  EXPECT_ERROR(InputError,
               "belongs to a run whose layer 'reshape' computes in float32, in this run it is mixed_bfloat16",
               mixed.run());
  program.at_step = {};
  EXPECT_EQ(program.run(), straight_);  // the refused backup has damaged nothing
}

TEST_F(Backup, WithinAnEpochOfOtherMetricsIsRefused) {
  Program program(backup_, {.save_when_stopped = true});
  stop_at(program, 12);
  program.run();
  program.metrics.push_back(SparseTopKCategoricalAccuracy(2));
  EXPECT_ERROR(InputError, "belongs to a run with 1 metrics, this one has 2", program.run());
  program.metrics = {SparseCategoricalAccuracy()};
  EXPECT_ERROR(InputError, "with the metrics accuracy, this one has sparse_categorical_accuracy", program.run());
}

TEST_F(Backup, WithinAnEpochOfAnotherBatchSizeIsRefused) {
  Program program(backup_, {.save_when_stopped = true});
  stop_at(program, 12);  // the third step of an epoch
  program.run();
  program.batch_size = 6;
  EXPECT_ERROR(InputError,
               "had read 21 examples in 3 batches of its epoch, these batches have 18: resume it with its own batch",
               program.run());
}

TEST(BackupOfCallbacks, InAnotherOrderIsRefusedAndChangesNothing) {
  const test::TemporaryFolder folder;
  const Dataset data = SmallProblem(8).dataset().batch(4);
  const auto new_model = [] {
    const Symbol x = Input({8});
    Model model(x, Dense({.units = 3})(x), {.seed = 5});
    model.compile(Adam(), SparseCategoricalCrossentropy{{.from_logits = true}});
    return model;
  };
  const auto stopping = std::make_shared<EarlyStopping>(EarlyStoppingOptions{.monitor = "loss", .patience = 9});
  const auto plateau = std::make_shared<ReduceLROnPlateau>(ReduceLROnPlateauOptions{.monitor = "loss"});
  const auto backup =
      std::make_shared<BackupAndRestore>(folder / "backup", BackupAndRestoreOptions{.delete_checkpoint = false});
  new_model().fit(data, {.epochs = 1, .callbacks = {stopping, plateau, backup}});
  Model other = new_model();
  const Copies before = copies_of(other);
  EXPECT_ERROR(InputError, "has the state of another callback for number 1 of those with a state",
               other.fit(data, {.epochs = 2, .callbacks = {plateau, stopping, backup}}));
  EXPECT_EQ(copies_of(other), before);
  EXPECT_EQ(other.optimizer().iterations(), 0);
  EXPECT_EQ(other.fit(data, {.epochs = 2, .callbacks = {stopping, plateau, backup}}).epoch, (std::vector{0, 1}));
}

TEST_F(Backup, OfAnotherNumberOfReplicasGoesOn) {
  Program program(backup_);
  stop_at(program, 12);
  program.run();
  Program more_replicas = program;
  more_replicas.replicas = 3;
  std::vector<std::int64_t> steps;
  more_replicas.at_step = [&](Model& model, const StepReport& report) {
    steps.push_back(report.step);
    for (const Variable& variable : model.variables()) EXPECT_EQ(variable.state().copies().size(), 3U);
  };
  more_replicas.run();
  ASSERT_FALSE(steps.empty());
  EXPECT_GT(steps.front(), 0);
}

TEST_F(Backup, ThatIsDamagedIsRefused) {
  Program program(backup_);
  stop_at(program, 12);
  program.run();
  const std::string metadata = backup_ + "/training_metadata.json";
  const std::string text = test::contents_of(metadata);
  test::write_text(metadata, text.substr(0, text.size() / 2));
  EXPECT_ERROR(InputError, "training_metadata.json: is no backup of a run", program.run());
  test::write_text(metadata, "{}");
  EXPECT_ERROR(InputError, "training_metadata.json: is no backup of a run", program.run());
}

TEST_F(Backup, RemovesWhatAWriterThatWasKilledHasLeft) {
  Program program(backup_, {.delete_checkpoint = false});
  program.epochs = 3;
  program.run();
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(backup_), std::filesystem::directory_iterator());
  };
  const auto whole = files();
  test::write_text(backup_ + "/.lockstep-999999999-0.tmp", "half a fi");
  program.epochs = 4;
  program.run();
  EXPECT_EQ(files(), whole);
}

TEST_F(Backup, ReplacesTheOneBefore) {
  Program program(backup_);
  stop_at(program, 12);
  program.run();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(backup_)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("state-2-10.h5", "training_metadata.json"));
}

TEST_F(Backup, NeedsAFolder) {
  EXPECT_ERROR(InvalidArgument, "needs a folder", BackupAndRestore(""));
  EXPECT_ERROR(InvalidArgument, "save_freq", BackupAndRestore("a", {.save_freq = 0}));
  EXPECT_ERROR(InputError, "/proc/none", Program("/proc/none").run());
}

}  // namespace
}  // namespace lockstep
