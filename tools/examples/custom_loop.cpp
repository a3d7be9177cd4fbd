// A custom training loop over three replicas, as in TensorFlow's guide to custom training with MirroredStrategy: the
// loss of the global batch, metrics over all replicas, a test pass, a checkpoint of the best weights.
//   custom_loop [EPOCHS]

#include <cmath>
#include <filesystem>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

/// Points of two spirals that wind around each other; the label is the spiral.
Dataset spirals(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(generator()) / 4294967296.0;
    const double angle = 3 * std::numbers::pi * t + std::numbers::pi * static_cast<double>(i % 2);
    x.push_back(static_cast<float>(2 * t * std::cos(angle)));
    x.push_back(static_cast<float>(2 * t * std::sin(angle)));
    y.push_back(i % 2);
  }
  return Dataset::from_tensors(Tensor::from(x, {count, 2}), Tensor::from(y, {count}));
}

Model make_model() {
  const Symbol x = Input({2});
  Symbol h = Dense({.units = 64, .activation = Activation::relu})(x);
  h = Dense({.units = 64, .activation = Activation::relu})(h);
  return Model(x, Dense({.units = 2})(h), {.seed = 1});
}

}  // namespace

int main(int argc, char** argv) try {
  const int epochs = argc > 1 ? std::stoi(argv[1]) : 30;
  const MirroredStrategy strategy({"CPU:0", "CPU:1", "CPU:2"});
  const auto scope = strategy.scope();
  Model model = make_model();
  const Adam optimizer({.learning_rate = 0.01});
  const SparseCategoricalCrossentropy loss_object({.from_logits = true});
  MetricTracker test_loss{Mean()};
  MetricTracker train_accuracy{Accuracy()};
  MetricTracker test_accuracy{Accuracy()};

  // The last batch has only 104 rows, which three replicas cannot share equally; every example still has the same
  // weight.
  const DistributedDataset train = strategy.distribute(spirals(1000, 1).shuffle().batch(128).prefetch());
  const DistributedDataset test = strategy.distribute(spirals(500, 2).batch(128));

  const auto train_step = [&](const Batch& local, std::int64_t global_batch_size) {
    GradientTape tape;
    const Tensor logits = model(local.x(), Mode::train);
    const Tensor loss = compute_average_loss(loss_object(local.y(), logits), {.global_batch_size = global_batch_size});
    optimizer.minimize(tape, loss, model.trainable_variables());
    train_accuracy.update_state(local.y(), logits);
    return loss;
  };
  const auto test_step = [&](const Batch& local) {
    const Tensor logits = model(local.x());
    test_loss.update_state({}, loss_object(local.y(), logits));
    test_accuracy.update_state(local.y(), logits);
  };

  const std::string best = "custom_loop.weights.h5";
  double best_accuracy = -1;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (MetricTracker* metric : {&test_loss, &train_accuracy, &test_accuracy}) metric->reset_state();
    double total_loss = 0;
    int batches = 0;
    for (const DistributedBatch& batch : train.epoch(static_cast<std::uint64_t>(epoch))) {
      const PerReplica<Tensor> losses =
          strategy.run([&](const Batch& local) { return train_step(local, batch.global_size()); }, batch);
      total_loss += strategy.reduce(ReduceOp::sum, losses).item<float>();
      ++batches;
    }
    for (const DistributedBatch& batch : test.epoch()) strategy.run(test_step, batch);
    fmt::print("epoch {}: loss {:.4f} - accuracy {:.3f} - test loss {:.4f} - test accuracy {:.3f}\n", epoch + 1,
               total_loss / batches, train_accuracy.result(), test_loss.result(), test_accuracy.result());
    if (test_accuracy.result() <= best_accuracy) continue;
    best_accuracy = test_accuracy.result();
    model.save_weights(best);
  }
  model.load_weights(best);
  fmt::print("best test accuracy {:.3f}\n", best_accuracy);
  std::filesystem::remove(best);
} catch (const std::exception& error) {
  fmt::print(stderr, "custom_loop: {}\n", error.what());
  return 1;
}
