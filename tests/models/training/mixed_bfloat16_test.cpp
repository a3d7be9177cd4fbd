// Training in mixed_bfloat16: the contract for replicas, seeds and checkpoints holds as in f32, and the loss curve
// stays close to that of f32.

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/metrics/accuracy.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep::test {
namespace {

constexpr std::int64_t classes = 4;
using Values = std::vector<std::vector<float>>;

/// The layers of MiniGoogLeNet's modules.
struct Options {
  bool normalizes_batches = true;
  double dropout = 0.2;
  DTypePolicy last = DTypePolicy::float32;
};

Symbol conv(const Symbol& x, std::int64_t filters, std::int64_t size, bool normalized) {
  const Symbol y = Conv2D({.filters = filters, .kernel_size = {size, size}, .padding = Padding::same})(x);
  return ReLU()(normalized ? BatchNormalization({.momentum = 0.9})(y) : y);
}

Model make_model(DTypePolicy policy, const Options& options = {}) {
  const DTypePolicyScope scope(policy);
  const bool normalized = options.normalizes_batches;
  const Symbol x = Input({8, 8, 3});
  Symbol y = conv(x, 8, 3, normalized);
  y = Concatenate()({conv(y, 6, 1, normalized), conv(y, 6, 3, normalized)});
  y = Concatenate()({conv(y, 8, 3, normalized), MaxPooling2D({.pool_size = {1, 1}})(y)});
  y = Flatten()(Dropout({.rate = options.dropout})(AveragePooling2D({.pool_size = {4, 4}})(y)));
  const Dense last = with_dtype_policy(options.last, [] { return Dense({.units = classes}); });
  Model model(x, last(y), {.seed = 3});
  model.compile(SGD({.learning_rate = 0.05, .momentum = 0.9}), SparseCategoricalCrossentropy({.from_logits = true}),
                {Accuracy()});
  return model;
}

/// Images labeled with their brightest corner.
Example examples(std::int64_t rows, unsigned seed = 1) {
  const Tensor x = random_tensor({rows, 8, 8, 3}, seed);
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t label = (row * 7 + row / 3) % classes;
    for (std::int64_t i = 0; i < 4 * 4 * 3; ++i) {
      const std::int64_t h = 4 * (label / 2) + i / 12;
      const std::int64_t w = 4 * (label % 2) + i / 3 % 4;
      x.data<float>()[((row * 8 + h) * 8 + w) * 3 + i % 3] += 0.5F;
    }
    labels.push_back(label);
  }
  return {{x}, {Tensor::from(labels, {rows})}};
}

Dataset batches(std::int64_t rows, std::int64_t batch, unsigned seed = 1) {
  const Example all = examples(rows, seed);
  return Dataset::from_tensors(all.x(), all.y()).batch(batch);
}

Values copies_of(const Model& model) {
  Values values;
  for (const Variable& variable : model.variables())
    for (const Tensor& copy : variable.state().copies()) values.push_back(copy.to_vector<float>());
  return values;
}

struct Trained {
  Values copies;
  std::vector<double> losses;  ///< by step
  friend bool operator==(const Trained&, const Trained&) = default;
};

Trained train(const std::vector<LogicalDevice>& on, DTypePolicy policy, const Options& options, const Dataset& data,
              int epochs = 1) {
  const MirroredStrategy strategy(on);
  Model model = strategy.scope([&] { return make_model(policy, options); });
  Trained run;
  const auto note = [&](Model&, const StepReport& report) { run.losses.push_back(report.loss); };
  model.fit(data, {.epochs = epochs,
                   .callbacks = {std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_train_batch_end = note})},
                   .verify_every = 1});
  run.copies = copies_of(model);
  return run;
}

TEST(MixedTraining, VariablesAndOptimizerStayF32) {
  Model model = make_model(DTypePolicy::mixed_bfloat16);
  model.fit(batches(16, 8));
  for (const Variable& variable : model.variables()) EXPECT_EQ(variable.dtype(), DType::f32) << variable.name();
  const OptimizerState state = model.optimizer().state();
  ASSERT_FALSE(state.slots.empty());
  for (const OptimizerState::Slot& slot : state.slots)
    for (const Tensor& value : slot.values) EXPECT_EQ(value.dtype(), DType::f32) << slot.name;
}

TEST(MixedTraining, TheSameSeedGivesTheSameBitsAndEqualCopies) {
  const Dataset data = batches(40, 16);  // with a smaller last batch
  const Trained first = train(devices(2), DTypePolicy::mixed_bfloat16, {}, data);
  EXPECT_TRUE(train(devices(2), DTypePolicy::mixed_bfloat16, {}, data) == first);
  EXPECT_FALSE(train(devices(2), DTypePolicy::float32, {}, data) == first) << "what is no different proves nothing";
}

/// Compares the same model on other devices, by the first copies of its weights.
void expect_near(const Trained& run, std::size_t replicas, const Trained& expected) {
  ASSERT_EQ(run.losses.size(), expected.losses.size());
  for (std::size_t step = 0; step < expected.losses.size(); ++step)
    EXPECT_NEAR(run.losses[step], expected.losses[step], tolerance(DType::bf16, 1, expected.losses[step])) << step;
  ASSERT_EQ(run.copies.size(), expected.copies.size() * replicas);
  for (std::size_t v = 0; v < expected.copies.size(); ++v)
    EXPECT_THAT(run.copies[v * replicas], testing::Pointwise(testing::FloatNear(0.01F), expected.copies[v])) << v;
}

// On GPUs: replicas there, compared with one CPU.
TEST(MixedTraining, ReplicasDoWhatOneDoesWithTheGlobalBatch) {
  const Options options{.normalizes_batches = false, .dropout = 0};
  const Dataset data = batches(48, 12);
  const Trained one = train(logical_cpus(1), DTypePolicy::mixed_bfloat16, options, data);
  for (const int replicas : {2, 3}) {
    SCOPED_TRACE(replicas);
    expect_near(train(devices(replicas), DTypePolicy::mixed_bfloat16, options, data),
                static_cast<std::size_t>(replicas), one);
  }
}

// With one replica, batches are normalized identically on every device, and the same elements are dropped.
TEST(MixedTraining, AnyDeviceDoesWhatACpuDoes) {
  const Dataset data = batches(48, 12);
  const Trained cpu = train(logical_cpus(1), DTypePolicy::mixed_bfloat16, {}, data);
  expect_near(train(devices(1), DTypePolicy::mixed_bfloat16, {}, data), 1, cpu);
}

double mean_of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                         values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
         static_cast<double>(end - begin);
}

// The means of ten steps each differ by less than a tenth of the decrease of the loss.
TEST(MixedTraining, TheLossFallsAsInF32) {
  const Options options{.dropout = 0};
  const Dataset data = batches(200, 20);
  const std::vector<double> exact = train(devices(1), DTypePolicy::float32, options, data, 10).losses;
  const std::vector<double> mixed = train(devices(1), DTypePolicy::mixed_bfloat16, options, data, 10).losses;
  ASSERT_EQ(exact.size(), 100U);
  ASSERT_EQ(mixed.size(), 100U);
  const double learned = mean_of(exact, 0, 10) - mean_of(exact, 90, 100);
  EXPECT_GT(learned, 0.5);
  EXPECT_NE(mixed, exact);
  for (std::size_t step = 0; step < 100; step += 10)
    EXPECT_NEAR(mean_of(mixed, step, step + 10), mean_of(exact, step, step + 10), 0.1 * learned) << "step " << step;
}

TEST(MixedTraining, ARunThatWasStoppedGoesOnToTheSameBits) {
  const TemporaryFolder folder;
  const Dataset data = batches(40, 8);
  const auto run = [&](const std::string& name, std::int64_t stop_at) {
    const MirroredStrategy strategy(devices(2));
    Model model = strategy.scope([] { return make_model(DTypePolicy::mixed_bfloat16); });
    const auto stop = [=](Model& running, const StepReport& report) {
      if (report.step == stop_at) running.stop_training();
    };
    model.fit(data,
              {.epochs = 3,
               .callbacks = {std::make_shared<BackupAndRestore>(folder / name,
                                                                BackupAndRestoreOptions{.save_when_stopped = true}),
                             std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_train_batch_end = stop})}});
    return copies_of(model);
  };
  const Values straight = run("straight", -1);
  EXPECT_FALSE(run("stopped", 7) == straight);
  EXPECT_TRUE(run("stopped", -1) == straight);
}

TEST(MixedTraining, LossesMetricsAndPredictionsAreF32) {
  Model model = make_model(DTypePolicy::mixed_bfloat16, {.last = DTypePolicy::mixed_bfloat16});
  const Example all = examples(24);
  const Tensor logits = model(all.x());
  ASSERT_EQ(logits.dtype(), DType::bf16);
  const Tensor wide = cast(logits, DType::f32);
  const SparseCategoricalCrossentropy loss({.from_logits = true});
  EXPECT_EQ(loss(all.y(), logits).dtype(), DType::f32);
  expect_same_bits(loss(all.y(), logits), loss(all.y(), wide));
  EXPECT_EQ(Accuracy().update(all.y(), logits), Accuracy().update(all.y(), wide));

  const Dataset data = Dataset::from_tensors(all.x(), all.y()).batch(24);
  expect_same_bits(model.predict(data), wide);
  const double expected = sum(loss(all.y(), wide)).item<float>() / 24;
  EXPECT_NEAR(model.evaluate(data).at("loss"), expected, 1e-6);
  EXPECT_NO_THROW(model.fit(data, {.class_weight = {{0, 2.0}, {1, 0.5}}}));
}

TEST(MixedTraining, SaturatedProbabilitiesHaveTheLossAndTheGradientOfTheirLogits) {
  for (const Activation activation : {Activation::softmax, Activation::sigmoid}) {
    const DTypePolicyScope scope(DTypePolicy::mixed_bfloat16);
    const bool one = activation == Activation::sigmoid;
    Model model = Sequential({2}, {Dense({.units = one ? 1 : 2, .activation = activation, .use_bias = false})});
    const std::vector<float> kernel = one ? std::vector<float>{32, 0} : std::vector<float>{-16, 16, 0, 0};
    model.set_weights({Tensor::from(kernel, {2, one ? 1 : 2})});
    model.compile(SGD({.learning_rate = 1}), one ? Loss(BinaryCrossentropy()) : SparseCategoricalCrossentropy());
    const Dataset data = Dataset::from_tensors(Tensor::from(std::vector<float>{1, 0}, {1, 2}),
                                               Tensor::zeros({1, 1}, one ? DType::f32 : DType::i64))
                             .batch(1);
    EXPECT_EQ(model.fit(data).values.at("loss").front(), 32) << one;
    EXPECT_EQ(model.get_weights()[0].to_vector<float>()[0], one ? 31 : -15);
  }
}

TEST(MixedTraining, ALoopOfOnesOwnCastsTheLogits) {
  const MirroredStrategy strategy(devices(2));
  const auto scope = strategy.scope();
  const Model model = make_model(DTypePolicy::mixed_bfloat16, {.last = DTypePolicy::mixed_bfloat16});
  const SGD optimizer({.learning_rate = 0.05});
  std::vector<float> losses;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (const DistributedBatch& batch : strategy.distribute(batches(16, 16)).epoch()) {
      const PerReplica<Tensor> loss = strategy.run(
          [&](const Batch& local) {
            GradientTape tape;
            const Tensor logits = cast(model(local.x(), Mode::train), DType::f32);
            Tensor share =
                sum(sparse_softmax_cross_entropy(logits, local.y())) / static_cast<double>(batch.global_size());
            optimizer.minimize(tape, share, model.trainable_variables());
            return share;
          },
          batch);
      losses.push_back(strategy.reduce(ReduceOp::sum, loss).item<float>());
    }
  }
  EXPECT_LT(losses.back(), losses.front());
}

}  // namespace
}  // namespace lockstep::test
