// Fine-tunes a saved classifier over two replicas, as in Keras' guide to transfer learning: replaces its last layer by
// a layer for other classes, trains the new layer alone, then all layers with a small learning rate.
//   fine_tuning [IMAGES [EPOCHS [FILE]]]
// FILE is a saved model for images of 28 x 28; the new layer gets the results of the layer before its last one. By
// default, a classifier of the classes 0 to 4 of Fashion-MNIST is trained and saved first. The new classes are 5 to 9.

#include <filesystem>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

constexpr int classes = 5;

/// The images of the classes from `first` on, labeled from 0.
Dataset images_of(int first, const FashionMnistOptions& options) {
  const auto label = [=](const Example& image) { return image.y().item<std::uint8_t>() - first; };
  return Dataset::from_tensors(load_fashion_mnist(options))
      .shuffle()
      .filter([=](const Example& image) { return 0 <= label(image) && label(image) < classes; })
      .map([=](const Example& image) { return image.with_y(Tensor::full({}, label(image), DType::i64)); })
      .batch(64)
      .map(image_preparation({.mean = Tensor::zeros({28, 28}), .padding = 0, .channels = 1}));
}

void train(Model& model, double learning_rate, const Dataset& images, int epochs) {
  model.compile(Adam({.learning_rate = learning_rate}), SparseCategoricalCrossentropy({.from_logits = true}),
                {Accuracy()});
  model.fit(images, {.epochs = epochs});
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t limit = argc > 1 ? std::stoll(argv[1]) : 20000;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 3;
  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();

  const std::string saved = "fine_tuning.keras";
  if (argc <= 3) {
    Model classifier = zoo::small_cnn({28, 28, 1}, classes);
    train(classifier, 1e-3, images_of(0, {.limit = limit}), epochs);
    classifier.save(saved);
  }
  Model base = load_model(argc > 3 ? argv[3] : saved, {.compile = false});
  if (argc <= 3) std::filesystem::remove(saved);

  const Dataset images = images_of(classes, {.limit = limit});
  const Dataset test = images_of(classes, {.split = Split::test});
  base.set_trainable(false);
  const Symbol features = base.get_layer(-2).output();
  Model model(base.inputs(), Dense({.units = classes, .name = "new_head"})(features));
  train(model, 1e-3, images, epochs);
  fmt::print("the new head alone: test accuracy {:.3f}\n", model.evaluate(test).at("accuracy"));

  base.set_trainable(true);
  train(model, 1e-4, images, epochs);
  fmt::print("all layers: test accuracy {:.3f}\n", model.evaluate(test).at("accuracy"));
  model.save("fine_tuned.keras");
} catch (const std::exception& error) {
  fmt::print(stderr, "fine_tuning: {}\n", error.what());
  return 1;
}
