// What an Estimator with RunConfig(train_distribute=MirroredStrategy(num_gpus=4)) did: a model function, an input
// function, train and evaluate. Here the strategy takes the input function, and the rest is a loop.
//   estimator [STEPS]

#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

Model model_fn() {
  const Symbol x = Input({10});
  return Model(x, Dense({.units = 1})(Dense({.units = 16, .activation = Activation::relu})(x)));
}

/// y = the sum of x; each input pipeline has its own part of the data, in batches for one replica.
Dataset input_fn(const InputContext& context, std::int64_t global_batch) {
  std::mt19937 generator(static_cast<unsigned>(context.input_pipeline_id));
  const Tensor x = Tensor::empty({1024, 10});
  const Tensor y = Tensor::zeros({1024, 1});
  for (std::int64_t row = 0; row < 1024; ++row)
    for (std::int64_t column = 0; column < 10; ++column) {
      const float value = static_cast<float>(generator()) / 4294967296.0F;
      x.data<float>()[row * 10 + column] = value;
      y.data<float>()[row] += value;
    }
  return Dataset::from_tensors(x, y).batch(context.get_per_replica_batch_size(global_batch), true).repeat();
}

/// The replica's share of the mean squared error over the global batch.
Tensor loss_fn(const Model& model, const Batch& local, std::int64_t global_batch, Mode mode) {
  return sum(square(model(local.x, mode) - local.y)) / static_cast<double>(global_batch);
}

}  // namespace

int main(int argc, char** argv) try {
  const int steps = argc > 1 ? std::stoi(argv[1]) : 500;
  const MirroredStrategy distribute({"CPU:0", "CPU:1", "CPU:2", "CPU:3"});
  const auto scope = distribute.scope();
  const Model model = model_fn();
  const Adam optimizer({.learning_rate = 0.01});
  auto batches =
      distribute.distribute_from_function([](const InputContext& context) { return input_fn(context, 64); }).epoch();

  const auto run = [&](Mode mode) {
    const std::optional<DistributedBatch> batch = batches.next();
    const auto losses = distribute.run(
        [&](const Batch& local) {
          GradientTape tape;
          const Tensor loss = loss_fn(model, local, batch->global_size(), mode);
          if (mode == Mode::train) optimizer.minimize(tape, loss, model.trainable_variables());
          return loss;
        },
        *batch);
    return distribute.reduce(ReduceOp::sum, losses).item<float>();
  };
  fmt::print("evaluated before: loss {:.4f}\n", run(Mode::inference));
  for (int step = 0; step < steps; ++step) run(Mode::train);
  fmt::print("evaluated after {} steps: loss {:.4f}\n", optimizer.iterations(), run(Mode::inference));
} catch (const std::exception& error) {
  fmt::print(stderr, "estimator: {}\n", error.what());
  return 1;
}
