#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/random/normal.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/checkpoint.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/core/variable_gradient.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A custom loop with all kinds of state that a checkpoint can hold.
class Loop {
 public:
  explicit Loop(int replicas = 2, std::int64_t units = 6)
      : strategy_(test::mirrored(replicas)),
        model_(strategy_.scope([&] { return make_model(units); })),
        scale_(strategy_.scope(
            [] { return Variable(VariableSpec{.name = "scale", .shape = {1}, .initializer = ones()}); })) {
    strategy_.scope([&] { draws_.start({.seed = 4}); });
  }

  Checkpoint checkpoint() {
    return Checkpoint(strategy_)
        .add("model", model_)
        .add("optimizer", optimizer_)
        .add("scale_optimizer", scale_optimizer_)
        .add("scale", scale_)
        .add("draws", draws_)
        .add("epoch", epoch_)
        .add("best", best_);
  }

  void train(int epochs) {
    for (; epochs > 0; --epochs, ++epoch_)
      for (const DistributedBatch& batch : data_.epoch(static_cast<std::uint64_t>(epoch_))) strategy_.run(step_, batch);
    best_ = -static_cast<double>(epoch_) / 3;
  }

  /// Every copy of every variable, and the numbers.
  std::vector<std::vector<float>> state() const {
    std::vector<std::vector<float>> values{{static_cast<float>(epoch_), static_cast<float>(best_)}};
    std::vector<Variable> variables = model_.variables();
    variables.push_back(scale_);
    for (const Variable& variable : variables)
      for (const Tensor& copy : variable.state().copies()) values.push_back(copy.to_vector<float>());
    return values;
  }

  /// The variables' values outside replicas.
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all{scale_.value().to_vector<float>()};
    for (const Variable& variable : model_.variables()) all.push_back(variable.value().to_vector<float>());
    return all;
  }
  /// Checks that the copies of each trained variable are equal.
  void verify() const {
    for (const Variable& variable : model_.trainable_variables())
      for (const Tensor& copy : variable.state().copies())
        EXPECT_EQ(copy.to_vector<float>(), variable.value().to_vector<float>()) << variable.name();
  }
  std::int64_t epoch() const { return epoch_; }
  double& best() { return best_; }
  const Adam& optimizer() const { return optimizer_; }

 private:
  static Model make_model(std::int64_t units) {
    const Symbol x = Input({8});
    const Symbol hidden = BatchNormalization()(Dense({.units = units, .activation = Activation::relu})(x));
    return {x, Dense({.units = 3})(Dropout({.rate = 0.3})(hidden)), {.seed = 5}};
  }

  MirroredStrategy strategy_;
  Model model_;
  Variable scale_;
  Adam optimizer_{{.learning_rate = 0.02}};
  SGD scale_optimizer_{{.learning_rate = 0.1, .momentum = 0.9}};
  RandomDraws draws_;
  std::int64_t epoch_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  // The last batch has two rows.
  DistributedDataset data_ = strategy_.distribute(test::SmallProblem(30).dataset().shuffle({.seed = 3}).batch(7));
  std::function<void(const Batch&)> step_ = [this](const Batch& local) {
    const SparseCategoricalCrossentropy loss({.from_logits = true});
    GradientTape tape;
    const Tensor noise = normal(local.x().shape(), 0, 0.1, [&] { return draws_.next(); });
    const Tensor losses = loss(local.y(), model_(local.x() + noise, Mode::train) * scale_.value());
    const Tensor share = compute_average_loss(losses, {.global_batch_size = 7});
    std::vector<Variable> variables = model_.trainable_variables();
    variables.push_back(scale_);
    std::vector<Tensor> gradients = gradient(tape, share, variables);
    const Tensor of_scale = gradients.back();
    gradients.pop_back();
    optimizer_.apply_gradients(gradients, model_.trainable_variables());
    scale_optimizer_.apply_gradients(std::span(&of_scale, 1), {scale_});
  };
};

class CheckpointFile : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "loop.h5";
};

TEST_F(CheckpointFile, ALoopGoesOnToTheSameBits) {
  Loop straight;
  straight.train(2);
  straight.checkpoint().write(path_);
  straight.train(2);
  Loop resumed;
  resumed.checkpoint().read(path_);
  EXPECT_EQ(resumed.epoch(), 2);
  resumed.train(2);
  EXPECT_EQ(resumed.state(), straight.state());
}

TEST_F(CheckpointFile, GoesBackInTheLoopThatWroteIt) {
  Loop loop;
  loop.checkpoint().write(path_);  // before the first step; `best` is infinite
  const auto untrained = loop.state();
  loop.train(1);
  const auto trained = loop.state();
  loop.checkpoint().read(path_);
  EXPECT_EQ(loop.state(), untrained);
  EXPECT_EQ(loop.best(), std::numeric_limits<double>::infinity());
  loop.train(1);
  EXPECT_EQ(loop.state(), trained) << "the optimizers have no moments of the first run";
}

TEST_F(CheckpointFile, IsReadByAnotherNumberOfReplicas) {
  Loop two;
  two.train(1);
  two.checkpoint().write(path_);
  Loop three(3);
  three.checkpoint().read(path_);
  EXPECT_EQ(three.epoch(), 1);
  EXPECT_EQ(three.optimizer().iterations(), two.optimizer().iterations());
  EXPECT_EQ(three.values(), two.values());
  three.train(1);
  three.verify();
}

TEST_F(CheckpointFile, KeepsValuesOutsideReplicasOnAnotherNumberOfReplicas) {
  const auto variables = [](const Strategy& strategy) {
    std::vector<Variable> made;
    for (const Aggregation aggregation : {Aggregation::sum, Aggregation::mean, Aggregation::only_first_replica})
      made.push_back(strategy.scope([&] {
        return Variable(VariableSpec{.name = fmt::format("v{}", made.size()),
                                     .shape = {1},
                                     .initializer = ones(),
                                     .synchronization = Synchronization::on_read,
                                     .aggregation = aggregation});
      }));
    return made;
  };
  const auto checkpoint = [](const Strategy& strategy, const std::vector<Variable>& of) {
    return Checkpoint(strategy).add("sum", of[0]).add("mean", of[1]).add("first", of[2]);
  };
  const MirroredStrategy two = test::mirrored(2);
  const std::vector<Variable> before = variables(two);
  two.run([&] {
    const double value = 3 + 2 * get_replica_context().replica_id_in_sync_group();
    for (const Variable& variable : before) variable.assign(Tensor::full({1}, value));
  });
  checkpoint(two, before).write(path_);
  for (const int replicas : {1, 2, 3}) {
    const MirroredStrategy strategy = test::mirrored(replicas);
    const std::vector<Variable> after = variables(strategy);
    checkpoint(strategy, after).read(path_);
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_FLOAT_EQ(after[i].value().item<float>(), before[i].value().item<float>()) << replicas << " " << i;
  }
}

TEST_F(CheckpointFile, HoldsF32Only) {
  const auto zero = [](const Tensor& x) { *x.data<std::int64_t>() = 0; };
  const Variable count(VariableSpec{.name = "count", .shape = {}, .initializer = zero, .dtype = DType::i64});
  EXPECT_ERROR(InvalidArgument, "variable 'count' is i64, backups and checkpoints hold f32 only",
               Checkpoint().add("count", count).write(path_));
}

TEST_F(CheckpointFile, OfOtherObjectsIsRefusedAndChangesNothing) {
  Loop loop;
  loop.train(1);
  loop.checkpoint().write(path_);
  Loop wider(2, 7);
  wider.train(1);
  const auto before = wider.state();
  EXPECT_ERROR(InputError, "loop.h5: weight 'dense/kernel' has shape (8, 6), not (8, 7)",
               wider.checkpoint().read(path_));
  std::int64_t count = 0;
  EXPECT_ERROR(InputError,
               "loop.h5: contains best, draws, epoch, model, optimizer, scale, scale_optimizer, not count, scale",
               Checkpoint().add("scale", count).add("count", count).read(path_));
  EXPECT_EQ(wider.state(), before);
}

/// Makes a step that moves a variable of its own.
void step(const Optimizer& optimizer, const Variable& variable) {
  const Tensor gradient = Tensor::full({2}, 1);
  optimizer.apply_gradients(std::span(&gradient, 1), {variable});
}

TEST_F(CheckpointFile, RestoresAllOptimizersOrNone) {
  const auto variable = [] { return Variable(VariableSpec{.name = "v", .shape = {2}, .initializer = ones()}); };
  const Variable a = variable(), b = variable(), c = variable();
  const SGD first({.learning_rate = 0.5, .momentum = 0.9}), second({.learning_rate = 0.5, .momentum = 0.9});
  const Adam other;
  step(first, a);
  step(second, b);
  step(other, c);
  Checkpoint().add("a", first).add("b", second).write(path_);
  step(first, a);
  const std::vector<float> moved = first.state().slots[0].values[0].to_vector<float>();
  EXPECT_ERROR(InputError, "loop.h5: ", Checkpoint().add("a", first).add("b", other).read(path_));
  EXPECT_EQ(first.iterations(), 2);
  EXPECT_EQ(first.state().slots[0].values[0].to_vector<float>(), moved);
  Checkpoint().add("a", first).add("b", second).read(path_);
  EXPECT_EQ(first.iterations(), 1);
}

TEST_F(CheckpointFile, ThatIsNoneIsRefused) {
  double number = 1;
  std::int64_t count = 2;
  EXPECT_ERROR(InputError, "loop.h5", Checkpoint().add("n", number).read(path_));
  test::write_text(path_, "no HDF5");
  EXPECT_ERROR(InputError, "loop.h5", Checkpoint().add("n", number).read(path_));
  Loop().checkpoint().write(path_);
  test::small_model(test::mirrored(1)).save_weights(folder_ / "w.weights.h5");
  EXPECT_ERROR(InputError, "w.weights.h5: is no checkpoint",
               Checkpoint().add("n", number).read(folder_ / "w.weights.h5"));
  Checkpoint().add("n", number).write(path_);
  EXPECT_ERROR(InputError, "loop.h5: is no checkpoint of these objects", Checkpoint().add("n", count).read(path_));
  EXPECT_EQ(count, 2);
  EXPECT_ERROR(InputError, "/proc/none", Checkpoint().add("n", number).write("/proc/none.h5"));
}

TEST_F(CheckpointFile, NamesMustBeUsable) {
  double number = 0;
  EXPECT_ERROR(InvalidArgument, "named 'n' already", Checkpoint().add("n", number).add("n", number));
  for (const char* const name : {"", ".", "a/b"})
    EXPECT_ERROR(InvalidArgument, "empty or contain '/'", Checkpoint().add(name, number));
  EXPECT_ERROR(InvalidArgument, "'model' belongs to another strategy",
               Checkpoint(test::mirrored(2)).add("model", test::small_model(test::mirrored(2))));
  RandomDraws draws;
  EXPECT_ERROR(InvalidArgument, "'draws' were not started in the scope of the checkpoint's strategy",
               Checkpoint().add("draws", draws));
}

TEST(CheckpointManager, KeepsTheNewestAndGoesOnFromTheLast) {
  const test::TemporaryFolder folder;
  const std::string run = folder / "run";
  std::int64_t step = 0;
  const Checkpoint checkpoint = Checkpoint().add("step", step);
  CheckpointManager first(checkpoint, run, {.max_to_keep = 2});
  EXPECT_EQ(first.restore_or_initialize(), std::nullopt);
  for (step = 1; step <= 11; ++step) EXPECT_EQ(first.save(), fmt::format("{}/ckpt-{}.h5", run, step));
  EXPECT_THAT(first.checkpoints(), ElementsAre(run + "/ckpt-10.h5", run + "/ckpt-11.h5"));
  test::write_text(run + "/.lockstep-999999999-0.tmp", "half a fi");  // of a killed writer
  test::write_text(run + "/ckpt-x.h5", "another file");

  CheckpointManager second(checkpoint, run, {.max_to_keep = std::nullopt});
  EXPECT_EQ(second.latest_checkpoint(), run + "/ckpt-11.h5");
  EXPECT_EQ(second.restore_or_initialize(), run + "/ckpt-11.h5");
  EXPECT_EQ(step, 11);
  second.save();
  EXPECT_THAT(second.checkpoints(), ElementsAre(run + "/ckpt-10.h5", run + "/ckpt-11.h5", run + "/ckpt-12.h5"));
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(run)) files.push_back(entry.path().filename());
  EXPECT_THAT(files, testing::UnorderedElementsAre("ckpt-10.h5", "ckpt-11.h5", "ckpt-12.h5", "ckpt-x.h5"));
  EXPECT_THAT(CheckpointManager(checkpoint, run, {.checkpoint_name = "other"}).checkpoints(), IsEmpty());
}

TEST(CheckpointManager, RefusesOptionsItCannotUse) {
  const Checkpoint checkpoint;
  EXPECT_ERROR(InvalidArgument, "needs a folder", CheckpointManager(checkpoint, ""));
  EXPECT_ERROR(InvalidArgument, "got 0", CheckpointManager(checkpoint, "run", {.max_to_keep = 0}));
  EXPECT_ERROR(InvalidArgument, "without '/', got 'a/b'",
               CheckpointManager(checkpoint, "run", {.checkpoint_name = "a/b"}));
  EXPECT_ERROR(InputError, "/proc/none", CheckpointManager(checkpoint, "/proc/none").save());
}

TEST(CheckpointManager, RefusesANumberAfterTheLargest) {
  const test::TemporaryFolder folder;
  std::int64_t step = 0;
  const Checkpoint checkpoint = Checkpoint().add("step", step);
  const std::string largest = folder / "ckpt-9223372036854775807.h5";
  test::write_text(largest, "a copy");
  EXPECT_ERROR(InputError, largest + ": no checkpoint can have a larger number",
               CheckpointManager(checkpoint, folder.path()).save());
  test::write_text(folder / "next-9223372036854775806.h5", "a copy");
  CheckpointManager next(checkpoint, folder.path(), {.checkpoint_name = "next"});
  EXPECT_EQ(next.save(), folder / "next-9223372036854775807.h5");
  EXPECT_THROW(next.save(), InputError);
}

}  // namespace
}  // namespace lockstep
