// A vision transformer, trained over two replicas on Fashion-MNIST: 16 patches of 7 x 7 pixels of each image.
//   vit [IMAGES [EPOCHS]]

#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

constexpr std::int64_t batch_size = 64;

int main(int argc, char** argv) try {
  const std::int64_t limit = argc > 1 ? std::stoll(argv[1]) : 60000;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 10;
  const Example images = load_fashion_mnist({.limit = limit});
  const auto prepare = image_preparation({.mean = mean_image(images.x()), .padding = 0, .channels = 1});
  const Dataset train = Dataset::from_tensors(images).shuffle().batch(batch_size).map(prepare).prefetch();
  const Dataset test =
      Dataset::from_tensors(load_fashion_mnist({.split = Split::test, .limit = limit})).batch(200).map(prepare);

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  Model model = zoo::vit({28, 28, 1}, 10, {.patch_size = 7, .layers = 4, .width = 64, .heads = 4, .dropout = 0.1});
  const std::int64_t steps = epochs * ((images.x().dim(0) + batch_size - 1) / batch_size);
  model.compile(AdamW({.learning_rate = CosineDecay({.initial_learning_rate = 1e-3, .decay_steps = steps}),
                       .weight_decay = 0.05}),
                SparseCategoricalCrossentropy({.from_logits = true}), {Accuracy()});
  model.fit(train, {.epochs = epochs});
  fmt::print("{} parameters: test accuracy {:.3f}\n", model.count_params(), model.evaluate(test).at("accuracy"));
} catch (const std::exception& error) {
  fmt::print(stderr, "vit: {}\n", error.what());
  return 1;
}
