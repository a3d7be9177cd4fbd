#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/small_problem.h>
#include <support/workers.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/data/element_draws.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/csv_logger.h>
#include <lockstep/models/training/callbacks/early_stopping.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/callbacks/model_checkpoint.h>
#include <lockstep/models/training/checkpoint.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>

// Training with several workers (see support/workers.h), compared with training as many replicas in one process.

namespace lockstep {
namespace {

using test::small_model;
using test::SmallProblem;

class TrainingByWorkers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(cluster_, nullptr) << "start this program with mpirun"; }

  /// A folder for all workers; the chief removes it after the test's last use.
  std::filesystem::path shared_folder() {
    std::string name = fmt::format("{}/lockstep-workers-{}", std::filesystem::temp_directory_path().string(), getpid());
    name = cluster_->all_gather("the name of a folder", name).front();
    if (cluster_->is_chief()) std::filesystem::create_directories(name);
    cluster_->all_gather("the making of a folder", "");
    return name;
  }

  /// A model with everything that could depend on a replica's position: dropout, and statistics of each replica.
  static Model difficult_model(const Strategy& strategy) {
    const auto inside = strategy.scope();
    const Symbol input = Input({8});
    const Symbol hidden = BatchNormalization()(Dense({.units = 16, .activation = Activation::relu})(input));
    Model model(input, Dense({.units = 3})(Dropout({.rate = 0.2})(hidden)), {.seed = 5});
    model.compile(SGD({.learning_rate = 0.1, .momentum = 0.9}), SparseCategoricalCrossentropy{{.from_logits = true}},
                  {Accuracy{}});
    return model;
  }

  const MultiWorkerMirroredStrategy strategy_ = test::workers();
  Cluster* const cluster_ = strategy_.state()->cluster();
  /// The same number of replicas in one process.
  const MirroredStrategy one_process_{logical_cpus(strategy_.num_replicas_in_sync())};
  // 20 steps in 2 epochs; the last step of each is uneven. Statistics of fewer rows would amplify rounding differences.
  const SmallProblem problem_{359};
  const Dataset batches_ = problem_.dataset().shuffle({.seed = 4}).batch(36);
};

/// Tolerance for sums of the same numbers in another order, after 20 steps.
constexpr double close = 1e-5;

void expect_close(const Model& a, const Model& b) {
  const auto of_a = test::weights_of(a);
  const auto of_b = test::weights_of(b);
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i)
    for (std::size_t j = 0; j < of_a[i].size(); ++j) ASSERT_NEAR(of_a[i][j], of_b[i][j], close) << i << ' ' << j;
}

// semantics 5.15: weight by sample count; with fewer rows than replicas some workers have none
TEST_F(TrainingByWorkers, StatisticsCountEveryRowOnce) {
  const auto inside = strategy_.scope();
  for (const bool as_parts : {false, true}) {
    Model model = Sequential({1}, {BatchNormalization({.momentum = 0.5})});
    const auto step = [&](const Batch& local) { model(local.x(), Mode::train); };
    double expected = 0;
    for (const std::vector<float>& rows : {std::vector<float>{4}, std::vector<float>{1, 2, 6}, std::vector<float>{8}}) {
      const auto n = static_cast<std::int64_t>(rows.size());
      const Dataset batch = Dataset::from_tensors(Tensor::from(rows, {n, 1})).batch(n);
      for (const DistributedBatch& own : strategy_.distribute(batch).epoch())
        as_parts ? strategy_.run(step, PerReplica<Batch>(own.local_results())) : strategy_.run(step, own);
      expected = (expected + std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(n)) / 2;
      EXPECT_NEAR(model.get_weights()[2].item<float>(), expected, 1e-6);
    }
  }
}

TEST_F(TrainingByWorkers, GivesWhatOneProcessGives) {
  for (const bool difficult : {false, true}) {
    Model by_workers = difficult ? difficult_model(strategy_) : small_model(strategy_);
    Model alone = difficult ? difficult_model(one_process_) : small_model(one_process_);
    const History history = by_workers.fit(batches_, {.epochs = 2, .validation = batches_, .verify_every = 5});
    const History expected = alone.fit(batches_, {.epochs = 2, .validation = batches_});
    for (const char* name : {"loss", "accuracy", "val_loss", "val_accuracy"})
      for (std::size_t epoch = 0; epoch < 2; ++epoch)
        EXPECT_NEAR(history.values.at(name).at(epoch), expected.values.at(name).at(epoch), close) << name;
    expect_close(by_workers, alone);
    const Dataset rest = problem_.dataset().batch(7);
    EXPECT_NEAR(by_workers.evaluate(rest).at("loss"), alone.evaluate(rest).at("loss"), close);
    const std::vector<double> outputs = by_workers.predict(rest).to_vector<double>();
    const std::vector<double> expected_outputs = alone.predict(rest).to_vector<double>();
    ASSERT_EQ(outputs.size(), expected_outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      ASSERT_NEAR(outputs[i], expected_outputs[i], 16 * close) << i;  // each is a sum over 16 weights
  }
}

TEST_F(TrainingByWorkers, StepsOfTheProgramThatDoWhatFitDoesHaveItsBits) {
  const auto step = [](Mode mode) -> StepFunction {
    return [mode](const Model& model, const Batch& batch, std::int64_t global_size) -> StepValues {
      GradientTape tape;
      const SparseCategoricalCrossentropy cross_entropy{{.from_logits = true}};
      const Tensor loss = sum(cross_entropy(batch.y(), model(batch.x(), mode)));
      if (mode == Mode::train)
        model.optimizer().minimize(tape, loss / static_cast<double>(global_size), model.trainable_variables());
      return {{"loss", {loss, batch.size()}}};
    };
  };
  Model expected = small_model(strategy_);
  Model custom = small_model(strategy_);
  custom.compile(SGD({.learning_rate = 0.2, .momentum = 0.9}), {},
                 {.train_step = step(Mode::train), .test_step = step(Mode::inference)});
  const FitOptions options{.epochs = 2, .validation = problem_.dataset().batch(70)};
  const History history = custom.fit(batches_, options);
  const History of_fit = expected.fit(batches_, options);
  for (const char* name : {"loss", "val_loss"}) EXPECT_EQ(history.values.at(name), of_fit.values.at(name)) << name;
  EXPECT_EQ(test::weights_of(custom), test::weights_of(expected));
}

TEST_F(TrainingByWorkers, WithStepsThatReturnOtherNamesFailOnAll) {
  Model model = small_model(strategy_);
  model.compile(SGD(), {}, {.train_step = [&](const Model&, const Batch&, std::int64_t) -> StepValues {
                  return {{fmt::format("of_{}", cluster_->rank()), {1.0, 1}}};
                }});
  EXPECT_THROW(model.fit(batches_), InvalidArgument);
}

TEST_F(TrainingByWorkers, WithAValidationThatFailsOnOneEndsOnAll) {
  Model model = small_model(strategy_);
  const int last = cluster_->size() - 1;
  const auto fails = [&](const Example& example) {
    if (cluster_->rank() != last) return example;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // all other workers have created their models by now
    fail<InputError>("the picture is torn");
  };
  const auto trains = [&] {
    model.fit(batches_, {.validation = problem_.dataset().map(fails).batch(36), .verbose = 0});
  };
  constexpr const char* text = "map, element 0: the picture is torn";
  if (cluster_->rank() == last)
    EXPECT_THAT(test::error_of<InputError>(trains), testing::HasSubstr(text));
  else
    EXPECT_THAT(test::error_of<WorkerFailed>(trains),
                testing::AllOf(testing::HasSubstr(fmt::format("worker {} (host ", last)), testing::HasSubstr(text)));
}

// The batch of one row leaves the other workers without rows.
TEST_F(TrainingByWorkers, WithoutALossFailsInTheSameWayOnAll) {
  Model model = small_model(strategy_);
  model.compile(SGD());
  const Batch row = problem_.dataset().batch(1).epoch().next().value();
  EXPECT_THAT(test::error_of<InvalidArgument>([&] { model.train_on_batch(row); }),
              testing::HasSubstr("the model has no loss: give compile() one for an output"));
}

// A batch of 2 rows leaves some workers without rows.
TEST_F(TrainingByWorkers, ABatchOfTensorsGivesWhatItGivesInOneProcess) {
  Model by_workers = small_model(strategy_);
  Model alone = small_model(one_process_);
  for (const std::int64_t rows : {36, 2}) {
    const Batch batch = problem_.dataset().batch(rows).epoch().next().value();
    for (const char* name : {"loss", "accuracy"}) {
      EXPECT_NEAR(by_workers.train_on_batch(batch).at(name), alone.train_on_batch(batch).at(name), close) << name;
      EXPECT_NEAR(by_workers.test_on_batch(batch).at(name), alone.test_on_batch(batch).at(name), close) << name;
    }
    EXPECT_EQ(by_workers.predict_on_batch(batch.x()).shape(), (Shape{rows, 3}));
  }
  expect_close(by_workers, alone);
}

TEST_F(TrainingByWorkers, GivesTheSameBitsWhenEachMakesItsOwnRowsAlone) {
  const auto noisy = [](const Example& example, const ElementId& id) {
    ElementDraws draws(3, DrawStream::augmentation, id);
    return example.with_x(example.x() + 0.01 * draws.uniform());
  };
  const RowTransform scaled([](const Batch& batch) { return batch.with_x(batch.x() * 1.5); });
  const Dataset own = problem_.dataset().shuffle({.seed = 4}).map(noisy).batch(36).map(scaled).prefetch();
  const Dataset whole = own.map([](const Batch& batch) { return batch; });  // a map function that might read all rows
  Model by_rows = difficult_model(strategy_);
  Model by_batches = difficult_model(strategy_);
  const History history = by_rows.fit(own, {.epochs = 2, .validation = own});
  const History expected = by_batches.fit(whole, {.epochs = 2, .validation = whole});
  for (const char* name : {"loss", "accuracy", "val_loss", "val_accuracy"})
    EXPECT_EQ(history.values.at(name), expected.values.at(name)) << name;
  EXPECT_EQ(test::weights_of(by_rows), test::weights_of(by_batches));
  test::expect_same_bits(by_rows.predict(own), by_batches.predict(whole));
  Model alone = difficult_model(one_process_);
  const History in_one_process = alone.fit(own, {.epochs = 2});
  for (std::size_t epoch = 0; epoch < 2; ++epoch)
    EXPECT_NEAR(history.values.at("loss").at(epoch), in_one_process.values.at("loss").at(epoch), close);
}

TEST_F(TrainingByWorkers, StopsEverywhereWhenOneAsksForIt) {
  Model model = small_model(strategy_);
  int steps = 0;
  const auto stop = std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_train_batch_end = [&](Model& of, const StepReport& report) {
        ++steps;
        if (cluster_->rank() == 1 && report.step == 3) of.stop_training();
      }});
  model.fit(batches_, {.epochs = 3, .callbacks = {stop}});
  EXPECT_EQ(steps, 4);
  cluster_->agree("the end", "the number of steps is", std::to_string(steps));
}

TEST_F(TrainingByWorkers, TheChiefAloneWritesFiles) {
  const std::filesystem::path folder = shared_folder();
  const std::filesystem::path own = folder / std::to_string(cluster_->rank());
  std::filesystem::create_directories(own);
  Model model = difficult_model(strategy_);
  model.fit(batches_, {.epochs = 1,
                       .validation = batches_,
                       .callbacks = {std::make_shared<CSVLogger>(own / "history.csv"),
                                     std::make_shared<ModelCheckpoint>(own / "best.weights.h5"),
                                     std::make_shared<EarlyStopping>()}});
  model.save_weights(own / "last.safetensors");
  model.save(own / "model.keras");
  for (const char* file : {"history.csv", "best.weights.h5", "last.safetensors", "model.keras"})
    EXPECT_EQ(std::filesystem::exists(own / file), cluster_->is_chief()) << file;

  cluster_->all_gather("the end of writing", "");
  Model loaded = difficult_model(one_process_);
  loaded.load_weights(folder / "0" / "last.safetensors");
  expect_close(model, loaded);
  cluster_->all_gather("the end of reading", "");
  if (cluster_->is_chief()) std::filesystem::remove_all(folder);
}

TEST_F(TrainingByWorkers, FailsOnAllIfOneCannotReadOrWriteAFile) {
  const std::filesystem::path folder = shared_folder();
  const std::filesystem::path own = folder / std::to_string(cluster_->rank());
  std::filesystem::create_directories(own);
  Model model = small_model(strategy_);
  for (const char* file : {"m.keras", "m.h5", "m.weights.h5", "m.safetensors"}) {  // only the chief's write fails
    const bool holds_model = std::string_view(file) == "m.keras" || std::string_view(file) == "m.h5";
    const auto save = [&](const std::filesystem::path& to) { holds_model ? model.save(to) : model.save_weights(to); };
    EXPECT_THAT(test::error_of<InputError>([&] { save(std::filesystem::path("/proc/none") / file); }),
                testing::AllOf(testing::HasSubstr("worker 0 (host "), testing::HasSubstr(file)));
    save(own / file);
  }
  model.variables()[1].assign(Tensor::full({16}, 3));
  const std::vector<std::vector<double>> before = test::weights_of(model);
  const auto missing = testing::AllOf(testing::HasSubstr("worker 1 (host "), testing::HasSubstr("/1/m."));
  for (const char* file : {"m.keras", "m.h5", "m.weights.h5", "m.safetensors"}) {
    EXPECT_THAT(test::error_of<InputError>([&] { model.load_weights(own / file); }), missing);
    EXPECT_EQ(test::weights_of(model), before);  // also on the chief, which has the file
  }
  const auto inside = strategy_.scope();
  for (const char* file : {"m.keras", "m.h5"})
    EXPECT_THAT(test::error_of<InputError>([&] { load_model(own / file); }), missing);
  cluster_->all_gather("the end of reading", "");
  if (cluster_->is_chief()) std::filesystem::remove_all(folder);
}

TEST_F(TrainingByWorkers, ContinuesFromACheckpointAsIfItHadNotStopped) {
  const std::filesystem::path folder = shared_folder();
  std::int64_t epochs = 0;
  const auto manager = [&](const Model& model) {
    const Checkpoint checkpoint =
        Checkpoint(strategy_).add("model", model).add("optimizer", model.optimizer()).add("epochs", epochs);
    return CheckpointManager(checkpoint, folder / "run");
  };
  Model whole = difficult_model(strategy_);
  whole.fit(batches_, {.epochs = 3});
  Model first = difficult_model(strategy_);
  first.fit(batches_, {.epochs = 2});
  epochs = 2;
  EXPECT_EQ(manager(first).save(), folder / "run/ckpt-1.h5");
  epochs = 0;
  Model second = difficult_model(strategy_);
  EXPECT_EQ(manager(second).restore_or_initialize(), folder / "run/ckpt-1.h5");
  EXPECT_EQ(epochs, 2);
  second.fit(batches_, {.epochs = 3, .initial_epoch = 2});
  EXPECT_EQ(test::weights_of(second), test::weights_of(whole));
  EXPECT_THROW(Checkpoint(strategy_).add("epochs", epochs).write("/proc/none/c.h5"), InputError);  // on all workers
  cluster_->all_gather("the end of reading", "");
  if (cluster_->is_chief()) std::filesystem::remove_all(folder);
}

TEST_F(TrainingByWorkers, GoesOnFromABackupAsIfItHadNotStopped) {
  const std::filesystem::path folder = shared_folder();
  Model whole = difficult_model(strategy_);
  const History expected = whole.fit(batches_, {.epochs = 3});
  {
    Model first = difficult_model(strategy_);
    first.fit(batches_, {.epochs = 2,
                         .callbacks = {std::make_shared<BackupAndRestore>(
                             folder / "backup", BackupAndRestoreOptions{.delete_checkpoint = false})}});
  }
  Model second = difficult_model(strategy_);
  const History history =
      second.fit(batches_, {.epochs = 3, .callbacks = {std::make_shared<BackupAndRestore>(folder / "backup")}});
  EXPECT_EQ(history.values.at("loss"), expected.values.at("loss"));
  EXPECT_EQ(test::weights_of(second), test::weights_of(whole));
  if (cluster_->is_chief()) std::filesystem::remove_all(folder);
}

TEST_F(TrainingByWorkers, AnotherNumberOfReplicasGoesOnFromABackup) {
  const std::filesystem::path folder = shared_folder();
  const BackupAndRestoreOptions keep{.delete_checkpoint = false};
  if (cluster_->is_chief()) {  // only one replica begins
    Model first = difficult_model(MirroredStrategy(logical_cpus(1)));
    first.fit(batches_, {.epochs = 1, .callbacks = {std::make_shared<BackupAndRestore>(folder / "backup", keep)}});
  }
  cluster_->all_gather("the end of the first part", "");
  Model second = difficult_model(strategy_);
  const History history =
      second.fit(batches_, {.epochs = 2, .callbacks = {std::make_shared<BackupAndRestore>(folder / "backup", keep)}});
  EXPECT_EQ(history.epoch, (std::vector{0, 1}));
  EXPECT_LT(history.values.at("loss")[1], history.values.at("loss")[0]);
  if (cluster_->is_chief()) std::filesystem::remove_all(folder);
}

TEST_F(TrainingByWorkers, WorkersThatComputeInDifferentDtypesAreRefused) {
  const DTypePolicyScope policy(cluster_->rank() == 1 ? DTypePolicy::mixed_bfloat16 : DTypePolicy::float32);
  EXPECT_THAT(test::error_of<InvalidArgument>([&] { small_model(strategy_); }),
              testing::AllOf(testing::HasSubstr("the dtype policy is mixed_bfloat16 in 0 of 2 layers on worker 0"),
                             testing::HasSubstr("mixed_bfloat16 in 2 of 2 layers on worker 1")));
}

TEST_F(TrainingByWorkers, WorkersThatTrainDifferentVariablesAreRefused) {
  Model model = small_model(strategy_);
  if (cluster_->rank() == 1) model.network().layers().front().impl().set_trainable(false);
  model.compile(SGD(), SparseCategoricalCrossentropy({.from_logits = true}));
  EXPECT_THAT(
      test::error_of<InvalidArgument>([&] { model.fit(batches_); }),
      testing::AllOf(testing::HasSubstr("the model trains"), testing::HasSubstr("dense/kernel, dense/bias, dense_1/")));
}

TEST_F(TrainingByWorkers, WorkersThatSeeDifferentBackupsAreRefused) {
  const std::filesystem::path folder = shared_folder();
  const std::filesystem::path own = folder / std::to_string(cluster_->rank());
  std::filesystem::create_directories(own);
  if (cluster_->is_chief()) std::ofstream(own / "training_metadata.json") << "{}";
  Model model = small_model(strategy_);
  EXPECT_THAT(test::error_of<InvalidArgument>(
                  [&] { model.fit(batches_, {.epochs = 1, .callbacks = {std::make_shared<BackupAndRestore>(own)}}); }),
              testing::HasSubstr("one folder for all workers"));
  cluster_->all_gather("the end", "");
  if (cluster_->is_chief()) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
