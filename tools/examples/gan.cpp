// A generative adversarial network over two replicas, as a custom loop with two models and two optimizers: a generator
// makes images, and a discriminator learns to distinguish them from those of Fashion-MNIST.
//   gan [IMAGES [EPOCHS]]
// Writes gan.png with 64 images that the generator makes, and generator.keras.

#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

constexpr std::int64_t side = 28, code_size = 32;

Model make_generator() {
  return Sequential(
      {code_size},
      {Dense({.units = 7 * 7 * 32}), LeakyReLU(), Reshape({.target_shape = {7, 7, 32}}),
       Conv2DTranspose({.filters = 16, .kernel_size = 4, .strides = 2, .padding = Padding::same}), LeakyReLU(),
       Conv2DTranspose({.filters = 1,
                        .kernel_size = 4,
                        .strides = 2,
                        .padding = Padding::same,
                        .activation = Activation::sigmoid})},
      {.name = "generator"});
}

/// The discriminator: images to logits, which are positive for images that it takes for real.
Model make_discriminator() {
  return Sequential({side, side, 1},
                    {Conv2D({.filters = 16, .kernel_size = 4, .strides = 2, .padding = Padding::same}), LeakyReLU(),
                     Conv2D({.filters = 32, .kernel_size = 4, .strides = 2, .padding = Padding::same}), LeakyReLU(),
                     Flatten(), Dropout({.rate = 0.3}), Dense({.units = 1})},
                    {.name = "discriminator"});
}

/// The distance of two sets of images: the squared differences of each pixel's mean and standard deviation over a set,
/// summed over the pixels.
double distance(const Tensor& a, const Tensor& b) {
  return sum(squared_difference(mean(a, {0}), mean(b, {0})) +
             squared_difference(lockstep::std(a, {0}), lockstep::std(b, {0})))
      .item<float>();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t limit = argc > 1 ? std::stoll(argv[1]) : 60000;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 10;
  const auto prepare = image_preparation({.mean = Tensor::zeros({side, side}), .padding = 0, .channels = 1});
  const Dataset images =
      Dataset::from_tensors(load_fashion_mnist({.limit = limit})).shuffle().batch(64).map(prepare).prefetch();
  const Example test = prepare(load_fashion_mnist({.split = Split::test, .limit = 1000}));

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  Model generator = make_generator();
  const Model discriminator = make_discriminator();
  const Adam generator_optimizer({.learning_rate = 1e-3, .beta_1 = 0.5});
  const Adam discriminator_optimizer({.learning_rate = 1e-3, .beta_1 = 0.5});
  const BinaryCrossentropy cross_entropy({.from_logits = true});
  RandomDraws draws;
  draws.start({.seed = 1});
  const auto codes = [&](std::int64_t count) { return normal({count, code_size}, 0, 1, [&] { return draws.next(); }); };

  const auto train_step = [&](const Batch& local, std::int64_t global_size) {
    const auto minimize = [&](const Adam& optimizer, GradientTape& tape, const Tensor& losses, const Model& model) {
      const Tensor loss = compute_average_loss(losses, {.global_batch_size = global_size});
      optimizer.minimize(tape, loss, model.trainable_variables());
    };
    const Tensor real = Tensor::full({local.size(), 1}, 1), made = Tensor::zeros({local.size(), 1});
    const Tensor made_images = generator(codes(local.size()), Mode::train);
    GradientTape discriminator_tape;
    const Tensor discriminator_losses = cross_entropy(real, discriminator(local.x(), Mode::train)) +
                                        cross_entropy(made, discriminator(made_images, Mode::train));
    minimize(discriminator_optimizer, discriminator_tape, discriminator_losses, discriminator);

    GradientTape generator_tape;
    const Tensor judged = discriminator(generator(codes(local.size()), Mode::train), Mode::train);
    minimize(generator_optimizer, generator_tape, cross_entropy(real, judged), generator);
  };

  const auto make = [&](std::int64_t count) {
    return generator.predict(codes(count), {.batch_size = 250, .verbose = 0});
  };
  fmt::print("distance from the test images: {:.1f}\n", distance(make(1000), test.x()));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const DistributedBatch& batch : strategy.distribute(images).epoch(static_cast<std::uint64_t>(epoch)))
      strategy.run([&](const Batch& local) { train_step(local, batch.global_size()); }, batch);
    fmt::print("epoch {}: {:.1f}\n", epoch + 1, distance(make(1000), test.x()));
  }
  const Tensor grid = transpose(reshape(make(64), {8, 8, side, side}), {0, 2, 1, 3});
  write_image("gan.png", cast(reshape(grid, {8 * side, 8 * side, 1}) * 255.0, DType::u8));
  generator.save("generator.keras");
  discriminator.save("discriminator.keras");
} catch (const std::exception& error) {
  fmt::print(stderr, "gan: {}\n", error.what());
  return 1;
}
