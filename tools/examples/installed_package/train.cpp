// Trains on two replicas, saves the model in Keras' format, loads it again and predicts.
//   train MODEL.keras

#include <iostream>
#include <vector>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

/// y = 3 a - 2 b + 1.
Dataset examples() {
  std::vector<float> x;
  std::vector<float> y;
  for (int a = -8; a <= 8; ++a)
    for (int b = -8; b <= 8; ++b) {
      x.insert(x.end(), {static_cast<float>(a) / 8, static_cast<float>(b) / 8});
      y.push_back(static_cast<float>(3 * a - 2 * b) / 8 + 1);
    }
  return Dataset::from_tensors(Tensor::from(x, {17 * 17, 2}), Tensor::from(y, {17 * 17, 1}));
}

void train_and_save(const char* path) {
  const MirroredStrategy strategy(logical_cpus(2));
  const auto scope = strategy.scope();
  Model model = Sequential({2}, {Dense({.units = 1})});
  model.compile(SGD({.learning_rate = 0.1}), MeanSquaredError());
  model.fit(examples().shuffle().batch(17), {.epochs = 10});
  save_model(model, path);
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "usage: train MODEL.keras");
  train_and_save(argv[1]);
  const Model model = load_model(argv[1]);  // without replicas, on the calling thread
  const float y = model(Tensor::from(std::vector<float>{0.5, 0.25}, {1, 2})).item<float>();
  std::cout << "3 * 0.5 - 2 * 0.25 + 1 = " << y << '\n';
} catch (const std::exception& error) {
  std::cerr << "train: " << error.what() << '\n';
  return 1;
}
