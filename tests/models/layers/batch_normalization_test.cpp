#include <array>
#include <cmath>

#include <support/replicas.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/strategy/input/distributed_batch.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

constexpr int moving_mean = 2, moving_variance = 3;  // indices of the weights

TEST(BatchNormalization, HasKerasWeights) {
  const BatchNormalization layer = built(BatchNormalization(), {{7, 8, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/gamma (4)", "layer/beta (4)", "layer/moving_mean (4)",
                                                      "layer/moving_variance (4)"));
  expect_same_bits(weight(layer, 0), Tensor::full({4}, 1));
  expect_same_bits(weight(layer, 1), Tensor::full({4}, 0));
  expect_same_bits(weight(layer, moving_mean), Tensor::full({4}, 0));
  expect_same_bits(weight(layer, moving_variance), Tensor::full({4}, 1));
  for (int number : {moving_mean, moving_variance}) {
    const Variable& statistic = layer.impl().variables()[number];
    EXPECT_FALSE(statistic.trainable());
    EXPECT_EQ(statistic.synchronization(), Synchronization::on_read);
    EXPECT_EQ(statistic.aggregation(), Aggregation::mean);
  }
}

TEST(BatchNormalization, HasNoGammaOrBetaOnRequest) {
  const Tensor x = random_tensor({3, 5, 4}, 1);
  const Tensor ones = Tensor::full({4}, 1);
  const Tensor zeros = Tensor::zeros({4});
  const Tensor expected = batch_norm(x, ones, zeros).y;
  const auto weights = [&](const BatchNormalizationOptions& options) {
    const BatchNormalization layer = built(BatchNormalization(options), {{5, 4}});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = call(layer, {x}, {.mode = Mode::train});
    expect_same_bits(y, expected);
    EXPECT_TRUE(tape.gradient(sum(square(y)), std::array{x})[0].defined());
    return weights_of(layer);
  };
  EXPECT_THAT(weights({.scale = false}),
              testing::ElementsAre("layer/beta (4)", "layer/moving_mean (4)", "layer/moving_variance (4)"));
  EXPECT_THAT(weights({.center = false}),
              testing::ElementsAre("layer/gamma (4)", "layer/moving_mean (4)", "layer/moving_variance (4)"));
  EXPECT_THAT(weights({.center = false, .scale = false}),
              testing::ElementsAre("layer/moving_mean (4)", "layer/moving_variance (4)"));
  const BatchNormalization layer = built(BatchNormalization({.scale = false}), {{4}});
  EXPECT_ERROR(InvalidArgument, "built for 4 channels, got (5)", shape_after(layer, {{5}}));
}

TEST(BatchNormalization, StartsWithItsInitializersAndIsPenalized) {
  const BatchNormalizationOptions options{.beta_initializer = constant(0.25),
                                          .gamma_initializer = constant(3),
                                          .moving_mean_initializer = constant(-0.5),
                                          .moving_variance_initializer = constant(2),
                                          .beta_regularizer = L1(0.5),
                                          .gamma_regularizer = L2(0.25)};
  const BatchNormalization layer = built(BatchNormalization(options), {{2}});
  EXPECT_THAT(weight(layer, 0).to_vector<float>(), testing::Each(3));
  EXPECT_THAT(weight(layer, 1).to_vector<float>(), testing::Each(0.25));
  EXPECT_THAT(weight(layer, 2).to_vector<float>(), testing::Each(-0.5));
  EXPECT_THAT(weight(layer, 3).to_vector<float>(), testing::Each(2));
  EXPECT_FLOAT_EQ(layer.impl().regularization_loss().item<float>(), 0.5F * 2 * 0.25F + 0.25F * 2 * 9);
  // As constants, gamma and beta are 1 and 0, and have no penalty.
  BatchNormalizationOptions none = options;
  none.scale = none.center = false;
  const BatchNormalization plain = built(BatchNormalization(none), {{2}});
  EXPECT_FALSE(plain.impl().regularization_loss().defined());
  const float y = call(plain, {Tensor::from<float>({0.5, 0.5}, {1, 2})}).to_vector<float>()[0];
  EXPECT_NEAR(y, 1 / std::sqrt(2.001), 1e-6);
}

TEST(BatchNormalization, TakesTheChannelsOfAnyAxis) {
  const Tensor x = random_tensor({3, 4, 5}, 1);
  const Tensor last = dense_copy(transpose(x, {0, 2, 1}));
  const BatchNormalization layer = built(BatchNormalization({.axis = 1}), {{4, 5}});
  const BatchNormalization same = built(BatchNormalization({.axis = -1}), {{5, 4}});
  EXPECT_EQ(weights_of(layer), weights_of(same));
  for (const Mode mode : {Mode::train, Mode::inference}) {
    const LayerCall how{.mode = mode, .fused_relu = true};
    expect_same_bits(call(layer, {x}, how), transpose(call(same, {last}, how), {0, 2, 1}));
  }
  for (int number : {moving_mean, moving_variance}) expect_same_bits(weight(layer, number), weight(same, number));
  EXPECT_EQ(shape_after(layer, {{4, 7}}), (Shape{4, 7}));
  EXPECT_ERROR(InvalidArgument, "built for 4 channels, got (5, 4)", shape_after(layer, {{5, 4}}));
  EXPECT_ERROR(InvalidArgument, "BatchNormalization needs different axes behind the batch axis, got (2) for (5)",
               shape_after(BatchNormalization({.axis = 2}), {{5}}));
}

TEST(BatchNormalization, NormalizesByTheBatchInTraining) {
  const BatchNormalization layer = built(BatchNormalization(), {{5, 4}});
  const Tensor x = random_tensor({3, 5, 4}, 1);
  const BatchNormResult expected = batch_norm(x, weight(layer, 0), weight(layer, 1));
  expect_same_bits(call(layer, {x}, {.mode = Mode::train}), expected.y);

  // Keras: moving = moving * 0.99 + batch * 0.01, from 0 and 1.
  const Tensor moved_mean = Tensor::full({4}, 0);
  const Tensor moved_variance = Tensor::full({4}, 1);
  update_moving_averages({{moved_mean, expected.mean, 0.99F}, {moved_variance, expected.variance, 0.99F}});
  expect_same_bits(weight(layer, moving_mean), moved_mean);
  expect_same_bits(weight(layer, moving_variance), moved_variance);
}

TEST(BatchNormalization, NormalizesByTheMovingStatisticsAtInference) {
  const BatchNormalization layer = built(BatchNormalization({.momentum = 0.5, .epsilon = 0.01}), {{4}});
  call(layer, {random_tensor({9, 4}, 1)}, {.mode = Mode::train});
  const Tensor before = Tensor::from(weight(layer, moving_mean).to_vector<float>(), {4});
  const Tensor x = random_tensor({3, 4}, 2);
  expect_same_bits(call(layer, {x}),
                   batch_norm_inference(x, weight(layer, 0), weight(layer, 1), weight(layer, moving_mean),
                                        weight(layer, moving_variance), {.epsilon = 0.01F}));
  expect_same_bits(weight(layer, moving_mean), before);
}

TEST(BatchNormalization, GradientsAtInferenceAreThoseOfTheStatisticsItRead) {
  const Tensor x = random_tensor({4, 3}, 1);
  const auto gradient = [&](bool trains) {
    const BatchNormalization layer = built(BatchNormalization(), {{3}});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = call(layer, {x}, {.mode = Mode::inference});
    if (trains) (void)call(layer, {random_tensor({4, 3}, 2, 5, 9)}, {.mode = Mode::train});
    return tape.gradient(sum(square(y)), std::array{x})[0];
  };
  expect_same_bits(gradient(true), gradient(false));
}

TEST(BatchNormalization, AppliesAFusedReluAndWritesIntoASlice) {
  const BatchNormalization layer = built(BatchNormalization(), {{4}});
  const Tensor x = random_tensor({6, 4}, 1);
  for (const Mode mode : {Mode::inference, Mode::train}) {
    const Tensor slice = Tensor::zeros({6, 9}).slice_view(-1, 3, 7);
    const Tensor plain = call(layer, {x}, {.mode = Mode::inference});
    const Tensor expected = relu(mode == Mode::train ? batch_norm(x, weight(layer, 0), weight(layer, 1)).y : plain);
    const Tensor y = call(layer, {x}, {.mode = mode, .fused_relu = true, .out = slice});
    EXPECT_EQ(y.raw_data(), slice.raw_data());
    expect_same_bits(slice, expected);
  }
}

// semantics 5.15: ON_READ/MEAN, weighted by sample count
TEST(BatchNormalization, EveryReplicaKeepsItsOwnStatisticsAndTheirWeightedMeanIsRead) {
  const MirroredStrategy strategy = mirrored(2);
  const BatchNormalization layer = strategy.scope([] { return built(BatchNormalization({.momentum = 0}), {{4}}); });
  const Tensor rows = random_tensor({6, 4}, 1);
  strategy.run([&](const Tensor& x) { call(layer, {x}, {.mode = Mode::train}); },
               PerReplica<Tensor>({rows.slice_view(0, 0, 4), rows.slice_view(0, 4, 6)}));

  const std::vector<Tensor>& copies = layer.impl().variables()[moving_mean].state().copies();
  const DeviceScope there(strategy.devices().front());  // on another device the last bits may differ
  const Tensor gamma = Tensor::full({4}, 1);
  const Tensor first = batch_norm(rows.slice_view(0, 0, 4), gamma, gamma).mean;
  const Tensor second = batch_norm(rows.slice_view(0, 4, 6), gamma, gamma).mean;
  expect_same_bits(copies[0], first);
  expect_same_bits(copies[1], second);
  const Tensor expected = multiply(add(multiply(first, 4.0), multiply(second, 2.0)), 1.0 / 6);
  expect_close(weight(layer, moving_mean), expected.to_vector<double>(), 2);
}

/// Keras' formula for batches that are split into parts: moving averages of the parts' weighted means.
class MovingStatistics {
 public:
  explicit MovingStatistics(double momentum) : momentum_(momentum) {}

  void add(const std::vector<std::vector<float>>& parts) {
    double rows = 0;
    double mean_of_all = 0;
    double variance_of_all = 0;
    for (const std::vector<float>& part : parts) {
      const auto n = static_cast<double>(part.size());
      double sum = 0;
      double squares = 0;
      for (const float x : part) sum += x;
      for (const float x : part) squares += (x - sum / n) * (x - sum / n);
      rows += n;
      mean_of_all += sum;
      variance_of_all += squares;
    }
    if (rows == 0) return;
    mean = momentum_ * mean + (1 - momentum_) * mean_of_all / rows;
    variance = momentum_ * variance + (1 - momentum_) * variance_of_all / rows;
  }

  double mean = 0;
  double variance = 1;

 private:
  double momentum_;
};

Tensor column(const std::vector<float>& x) { return Tensor::from(x, {static_cast<std::int64_t>(x.size()), 1}); }

/// Batches of different sizes, so that the replicas' shares vary, and some are empty.
std::vector<std::vector<float>> uneven_batches() {
  std::vector<std::vector<float>> batches;
  float x = 0;
  for (const int rows : {7, 4, 1, 2, 6, 0, 5, 1}) {
    auto& batch = batches.emplace_back();
    for (int row = 0; row < rows; ++row) batch.push_back(x = std::fmod(x * 1.7F + 3, 11.0F));
  }
  return batches;
}

void expect_statistics(const Layer& layer, const MovingStatistics& expected) {
  EXPECT_NEAR(weight(layer, moving_mean).item<float>(), expected.mean, 3e-6);
  EXPECT_NEAR(weight(layer, moving_variance).item<float>(), expected.variance, 3e-5);
}

/// Trains on the batches, given as a DistributedBatch, or as parts so that no replica knows the others' rows.
void expect_weighted_statistics(const Strategy& strategy, const std::vector<double>& shares, bool as_parts) {
  const BatchNormalization layer = strategy.scope([] { return built(BatchNormalization({.momentum = 0.7}), {{1}}); });
  MovingStatistics expected(0.7);
  const auto step = [&](const Tensor& x) { call(layer, {x}, {.mode = Mode::train}); };
  for (const std::vector<float>& rows : uneven_batches()) {
    if (rows.empty() && !as_parts) continue;  // no such batch
    std::vector<std::vector<float>> parts;
    if (rows.empty()) parts.resize(static_cast<std::size_t>(strategy.num_local_replicas()));
    if (!rows.empty()) {
      const DistributedBatch batch({{column(rows)}}, strategy.num_local_replicas(), shares);
      for (const Batch& part : batch.local_results()) parts.push_back(part.x().to_vector<float>());
      if (!as_parts) strategy.run([&](const Batch& local) { step(local.x()); }, batch);
    }
    if (as_parts)
      strategy.run(step, per_replica(strategy.num_local_replicas(), [&](int r) { return column(parts[r]); }));
    expected.add(parts);
    expect_statistics(layer, expected);
  }
}

// semantics 5.15: weight by sample count
TEST(BatchNormalization, StatisticsCountEveryRowOnceInUnevenAndEmptyParts) {
  for (const bool as_parts : {false, true})
    for (const std::vector<double>& shares : {std::vector<double>{}, std::vector<double>{31, 1, 2}}) {
      expect_weighted_statistics(mirrored(3), shares, as_parts);
      expect_weighted_statistics(CentralStorageStrategy(logical_cpus(3)), shares, as_parts);
    }
  expect_weighted_statistics(OneDeviceStrategy("CPU:0"), {}, false);
}

TEST(BatchNormalization, AReplicaThatNeverHasRowsLeavesNothingOfItsInitialStatistics) {
  std::vector<float> x;
  for (int i = 0; i < 320; ++i) x.push_back(static_cast<float>(10 + i % 2));
  const Dataset data = Dataset::from_tensors(column(x), Tensor::zeros({320, 1})).batch(16);
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  Model model = Sequential({1}, {BatchNormalization({.momentum = 0.5})});
  model.compile(SGD({.learning_rate = 0}), MeanSquaredError());
  FitOptions options;
  options.distribute.shares = {31, 1};
  model.fit(data, options);
  EXPECT_NEAR(model.get_weights()[moving_mean].item<float>(), 10.5, 1e-4);
  EXPECT_NEAR(model.get_weights()[moving_variance].item<float>(), 0.25, 1e-4);
}

TEST(BatchNormalization, AReplicaThatTakesNoneOfItsRowsAddsNothing) {
  const MirroredStrategy strategy = mirrored(2);
  const BatchNormalization layer = strategy.scope([] { return built(BatchNormalization({.momentum = 0}), {{1}}); });
  const auto step = [&](const Batch& local) {
    const bool none = current_context().replica == 1;
    call(layer, {none ? local.x().slice_view(0, 0, 0) : local.x()}, {.mode = Mode::train});
  };
  strategy.run(step, DistributedBatch({{column({2, 4, 6, 8})}}, 2));
  EXPECT_FLOAT_EQ(weight(layer, moving_mean).item<float>(), 3);
  EXPECT_FLOAT_EQ(weight(layer, moving_variance).item<float>(), 1);
}

TEST(BatchNormalization, StatisticsThatAreSetCountAlikeAgain) {
  const MirroredStrategy strategy = mirrored(2);
  const BatchNormalization layer = strategy.scope([] { return built(BatchNormalization({.momentum = 0.5}), {{1}}); });
  const auto step = [&](const Batch& local) { call(layer, {local.x()}, {.mode = Mode::train}); };
  strategy.run(step, DistributedBatch({{column({1, 2, 3})}}, 2));
  const Variable& statistic = layer.impl().variables()[moving_mean];
  EXPECT_NE(statistic.state().copy_weights()[0], statistic.state().copy_weights()[1]);
  statistic.assign(Tensor::full({1}, 8));
  EXPECT_THAT(statistic.state().copy_weights(), testing::Each(1));
  strategy.run(step, DistributedBatch({{column({4})}}, 2));
  EXPECT_FLOAT_EQ(weight(layer, moving_mean).item<float>(), 6);
}

// semantics 14.9: momentum .5, rows 0..3 on replica 0 and 10..13 on replica 1
TEST(BatchNormalization, ReadsTheWorkedExamplesMean) {
  const MirroredStrategy strategy = mirrored(2);
  const BatchNormalization layer = strategy.scope([] { return built(BatchNormalization({.momentum = 0.5}), {{1}}); });
  const PerReplica rows(std::vector{Tensor::from(std::vector<float>{0, 1, 2, 3}, {4, 1}),
                                    Tensor::from(std::vector<float>{10, 11, 12, 13}, {4, 1})});
  strategy.run([&](const Tensor& x) { call(layer, {x}, {.mode = Mode::train}); }, rows);
  const std::vector<Tensor>& copies = layer.impl().variables()[moving_mean].state().copies();
  EXPECT_FLOAT_EQ(copies[0].item<float>(), 0.75F);
  EXPECT_FLOAT_EQ(copies[1].item<float>(), 5.75F);
  EXPECT_FLOAT_EQ(weight(layer, moving_mean).item<float>(), 3.25F);
}

// semantics 5.15, 15.3, Probe P2: skip the update of an empty replica
TEST(BatchNormalization, AReplicaWithoutRowsKeepsItsStatistics) {
  const BatchNormalization layer = built(BatchNormalization(), {{3, 4}});
  call(layer, {random_tensor({2, 3, 4}, 1)}, {.mode = Mode::train});
  const std::vector<float> before = weight(layer, moving_variance).to_vector<float>();
  const Tensor y = call(layer, {Tensor::zeros({0, 3, 4})}, {.mode = Mode::train});
  EXPECT_EQ(y.shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(weight(layer, moving_variance).to_vector<float>(), before);
}

// semantics 5: BatchNorm. Synchronized statistics are exact for uneven parts and for one without rows.
TEST(BatchNormalization, SynchronizedReplicasNormalizeByTheWholeBatch) {
  constexpr std::int64_t rows = 9;
  const std::vector<std::int64_t> ends{5, 5, 6, 9};  // rows of 4 replicas; the second has none
  const Tensor x = random_tensor({rows, 2, 3}, 1, 9, 11);
  const Tensor weights = random_tensor({rows, 2, 3}, 2);
  const auto part = [&](const Tensor& of, int replica) {
    return of.slice_view(0, replica == 0 ? 0 : ends[replica - 1], ends[replica]);
  };
  struct Results {
    Tensor y, dx, dgamma, dbeta;
  };
  const auto step = [](const Layer& layer, const Tensor& in, const Tensor& of_y) {
    const std::array sources{in, weight(layer, 0), weight(layer, 1)};
    GradientTape tape;
    tape.watch(in);
    const Tensor y = call(layer, {in}, {.mode = Mode::train, .fused_relu = true});
    const auto gradients = tape.gradient(sum(multiply(y, of_y)), sources);
    return Results{y, gradients[0], gradients[1], gradients[2]};
  };
  const BatchNormalization alone = built(BatchNormalization({.momentum = 0.5, .synchronized = true}), {{2, 3}});
  const Results whole = step(alone, x, weights);

  const MirroredStrategy strategy = mirrored(4);
  const BatchNormalization layer = strategy.scope([] {
    return built(BatchNormalization({.momentum = 0.5, .synchronized = true}), {{2, 3}});
  });
  const auto replicas = strategy.run([&] {
    const int replica = this_replica();
    return std::make_shared<const Results>(step(layer, part(x, replica), part(weights, replica)));
  });
  Tensor dgamma = Tensor::zeros({3});
  Tensor dbeta = Tensor::zeros({3});
  for (int replica = 0; replica < 4; ++replica) {
    const Results& own = *replicas[replica];
    expect_close(own.y, part(whole.y, replica).to_vector<double>(), rows * 2, 11);
    expect_close(own.dx, part(whole.dx, replica).to_vector<double>(), rows * 2, 11);
    dgamma = add(dgamma, own.dgamma);
    dbeta = add(dbeta, own.dbeta);
  }
  expect_close(dgamma, whole.dgamma.to_vector<double>(), rows * 2, 11);
  expect_close(dbeta, whole.dbeta.to_vector<double>(), rows * 2);
  for (const int number : {moving_mean, moving_variance}) {
    const std::vector<Tensor>& copies = layer.impl().variables()[number].state().copies();
    for (const Tensor& copy : copies) expect_same_bits(copy, copies[0]);
    expect_close(copies[0], weight(alone, number).to_vector<double>(), rows * 2);
  }
}

TEST(BatchNormalization, SynchronizedReplicasWithoutAnyRowKeepTheirStatistics) {
  const MirroredStrategy strategy = mirrored(2);
  const BatchNormalization layer =
      strategy.scope([] { return built(BatchNormalization({.synchronized = true}), {{4}}); });
  strategy.run([&] { call(layer, {Tensor::zeros({0, 4})}, {.mode = Mode::train}); });
  expect_same_bits(weight(layer, moving_mean), Tensor::zeros({4}));
  expect_same_bits(weight(layer, moving_variance), Tensor::full({4}, 1));
}

TEST(BatchNormalization, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "momentum between 0 and 1, got 1.5", BatchNormalization({.momentum = 1.5}));
  EXPECT_ERROR(InvalidArgument, "epsilon above 0, got 0", BatchNormalization({.epsilon = 0}));
  const BatchNormalization layer = built(BatchNormalization(), {{4}});
  EXPECT_ERROR(InvalidArgument, "built for 4 channels, got (5)", shape_after(layer, {{5}}));
}

}  // namespace
}  // namespace lockstep::test
