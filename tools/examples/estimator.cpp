// Trains a compiled Keras model as an Estimator on four devices: model_to_estimator, RunConfig(train_distribute=...),
// train, evaluate. New programs should make the model in the strategy's scope and call fit, as the end of this one
// does.
//   estimator [STEPS]

#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

Model compiled_model() {
  const Symbol x = Input({10});
  Model model(x, Dense({.units = 1})(Dense({.units = 16, .activation = Activation::relu})(x)));
  model.compile(Adam({.learning_rate = 0.01}), MeanSquaredError());
  return model;
}

/// y = the sum of x.
Dataset examples(unsigned seed) {
  std::mt19937 generator(seed);
  const Tensor x = Tensor::empty({4096, 10});
  const Tensor y = Tensor::zeros({4096, 1});
  for (std::int64_t row = 0; row < 4096; ++row)
    for (std::int64_t column = 0; column < 10; ++column) {
      const float value = static_cast<float>(generator()) / 4294967296.0F;
      x.data<float>()[row * 10 + column] = value;
      y.data<float>()[row] += value;
    }
  return Dataset::from_tensors(x, y);
}

// The input function of an Estimator: batches for one replica; a step takes one for each replica.
Dataset train_input_fn() { return examples(1).shuffle().batch(16).repeat(); }
Dataset eval_input_fn() { return examples(2).batch(16); }

}  // namespace

int main(int argc, char** argv) try {
  const int steps = argc > 1 ? std::stoi(argv[1]) : 500;
  const MirroredStrategy distribute({"CPU:0", "CPU:1", "CPU:2", "CPU:3"});

  Estimator estimator = model_to_estimator(compiled_model(), {.train_distribute = distribute});
  fmt::print("before: loss {:.4f}\n", estimator.evaluate(eval_input_fn).at("loss"));
  estimator.train(train_input_fn, {.steps = steps});
  const Logs logs = estimator.evaluate(eval_input_fn);
  fmt::print("after {} steps: loss {:.4f}\n", logs.at("global_step"), logs.at("loss"));

  // Without an Estimator the batches are global ones.
  const auto scope = distribute.scope();
  Model model = compiled_model();
  model.fit(examples(1).shuffle().batch(64).repeat(), {.steps_per_epoch = steps});
  fmt::print("fit in the scope: loss {:.4f}\n", model.evaluate(examples(2).batch(64)).at("loss"));
} catch (const std::exception& error) {
  fmt::print(stderr, "estimator: {}\n", error.what());
  return 1;
}
