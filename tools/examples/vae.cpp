// A variational autoencoder of Fashion-MNIST over two replicas, as a custom loop: an encoder gives the distribution of
// an image's code, and a decoder reconstructs the image from a code drawn from this distribution.
//   vae [IMAGES [EPOCHS]]
// Writes vae.png with 64 images that the decoder makes of random codes, vae_encoder.keras and vae_decoder.keras.

#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

constexpr std::int64_t side = 28, code_size = 8;

Model make_encoder() {
  const Symbol images = Input({side, side, 1});
  Symbol x = images;
  for (const std::int64_t filters : {16, 32})
    x = Conv2D({.filters = filters, .kernel_size = 3, .strides = 2, .activation = Activation::relu})(x);
  x = Flatten()(x);
  return {{images},
          {Dense({.units = code_size, .name = "mean"})(x), Dense({.units = code_size, .name = "log_variance"})(x)},
          {.name = "encoder"}};
}

/// Doubles height and width.
Layer upsampling(std::int64_t filters, Activation activation) {
  return Conv2DTranspose(
      {.filters = filters, .kernel_size = 4, .strides = 2, .padding = Padding::same, .activation = activation});
}

Model make_decoder() {
  return Sequential(
      {code_size},
      {Dense({.units = 7 * 7 * 32, .activation = Activation::relu}), Reshape({.target_shape = {7, 7, 32}}),
       upsampling(16, Activation::relu), upsampling(1, Activation::sigmoid)},
      {.name = "decoder"});
}

/// Batches of images with pixels from 0 to 1.
Dataset load(const FashionMnistOptions& options) {
  const auto prepare = image_preparation({.mean = Tensor::zeros({side, side}), .padding = 0, .channels = 1});
  return Dataset::from_tensors(load_fashion_mnist(options)).shuffle().batch(64).map(prepare).prefetch();
}

/// The loss of each image, of shape (n), in nats per pixel: the cross-entropy of the decoded pixels plus the KL
/// divergence of the code's distribution from the standard normal distribution.
Tensor losses_of(const Tensor& images, const Tensor& decoded, const Tensor& mu, const Tensor& log_variance) {
  const Tensor divergence = 0.5 * sum(square(mu) + exp(log_variance) - log_variance - 1.0, {1});
  return BinaryCrossentropy()(images, decoded) + divergence / (side * side);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t limit = argc > 1 ? std::stoll(argv[1]) : 60000;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 5;
  const Dataset train = load({.limit = limit});
  const Dataset test = load({.split = Split::test, .limit = limit});

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  Model encoder = make_encoder();
  Model decoder = make_decoder();
  const Adam optimizer({.learning_rate = 1e-3});
  RandomDraws draws;
  draws.start({.seed = 1});
  const auto noise = [&](const Shape& shape) { return normal(shape, 0, 1, [&] { return draws.next(); }); };
  MetricTracker mean_loss{Mean()};

  const auto losses = [&](const Tensor& images, Mode mode) {
    const std::vector<Tensor> code = encoder.run({images}, mode);
    const Tensor &mu = code[0], &log_variance = code[1];
    const Tensor drawn = mu + exp(log_variance / 2) * noise(mu.shape());
    return losses_of(images, decoder(drawn, mode), mu, log_variance);
  };
  const auto train_step = [&](const Batch& local, std::int64_t global_size) {
    GradientTape tape;
    const Tensor of_images = losses(local.x(), Mode::train);
    std::vector<Variable> variables = encoder.trainable_variables();
    for (const Variable& variable : decoder.trainable_variables()) variables.push_back(variable);
    optimizer.minimize(tape, compute_average_loss(of_images, {.global_batch_size = global_size}), variables);
    mean_loss.update_state({}, of_images);
  };

  for (int epoch = 0; epoch < epochs; ++epoch) {
    mean_loss.reset_state();
    for (const DistributedBatch& batch : strategy.distribute(train).epoch(static_cast<std::uint64_t>(epoch)))
      strategy.run([&](const Batch& local) { train_step(local, batch.global_size()); }, batch);
    fmt::print("epoch {}: loss {:.3f}\n", epoch + 1, mean_loss.result());
  }

  mean_loss.reset_state();
  MetricTracker of_mean_image{MeanMetricWrapper(BinaryCrossentropy())};
  const Tensor mean_pixels = expand_dims(mean_image(load_fashion_mnist({.limit = limit}).x()), -1);
  for (const DistributedBatch& batch : strategy.distribute(test).epoch())
    strategy.run(
        [&](const Batch& local) {
          mean_loss.update_state({}, losses(local.x(), Mode::inference));
          of_mean_image.update_state(local.x(), broadcast_to(mean_pixels, local.x().shape()));
        },
        batch);
  fmt::print("loss of test images, in nats for each pixel: {:.3f}; if all codes gave the mean image: {:.3f}\n",
             mean_loss.result(), of_mean_image.result());

  const Tensor images = decoder.predict(noise({64, code_size}));
  const Tensor grid = transpose(reshape(images, {8, 8, side, side}), {0, 2, 1, 3});
  write_image("vae.png", cast(reshape(grid, {8 * side, 8 * side, 1}) * 255.0, DType::u8));
  encoder.save("vae_encoder.keras");
  decoder.save("vae_decoder.keras");
} catch (const std::exception& error) {
  fmt::print(stderr, "vae: {}\n", error.what());
  return 1;
}
