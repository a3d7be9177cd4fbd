// "Transparent multi-GPU training": an MLP with 41,157,101 parameters on random data, with make_parallel as in the
// tutorial, then with a strategy, which needs no wrapper around the model.
//   make_parallel [EXAMPLES [INPUTS]]

#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

Model mlp(std::int64_t inputs) {
  const Symbol input = Input({inputs});
  Symbol x = Dense({.units = inputs / 2, .activation = Activation::tanh})(input);
  x = Dense({.units = inputs / 4, .activation = Activation::relu})(x);
  x = Dense({.units = 500, .activation = Activation::relu})(x);
  x = Dense({.units = 300, .activation = Activation::relu})(x);
  return Model(input, Dense({.units = 1, .activation = Activation::sigmoid})(x));
}

Dataset random_examples(std::int64_t count, std::int64_t inputs) {
  std::mt19937 generator(0);
  const Tensor x = Tensor::empty({count, inputs});
  const Tensor y = Tensor::empty({count, 1});
  for (float& value : x.span<float>()) value = static_cast<float>(generator()) / 4294967296.0F;
  for (float& value : y.span<float>()) value = static_cast<float>(generator() % 2);
  return Dataset::from_tensors(x, y);
}

void train(Model model, const Dataset& batches) {
  model.compile(Adam({.learning_rate = 0.0001}), BinaryCrossentropy(), {Accuracy()});
  const History history = model.fit(batches);
  fmt::print("loss {:.4f}\n", history.values.at("loss").back());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t count = argc > 1 ? std::stoll(argv[1]) : 131072;
  const std::int64_t inputs = argc > 2 ? std::stoll(argv[2]) : 8000;
  const Dataset batches = random_examples(count, inputs).batch(2048 * 4);

  const Model model = mlp(inputs);
  fmt::print("{}", model.summary());
  train(make_parallel(model, 4, {"CPU:0", "CPU:1", "CPU:2", "CPU:3"}), batches);

  const MirroredStrategy strategy({"CPU:0", "CPU:1", "CPU:2", "CPU:3"});
  const auto scope = strategy.scope();
  train(mlp(inputs), batches);
} catch (const std::exception& error) {
  fmt::print(stderr, "make_parallel: {}\n", error.what());
  return 1;
}
