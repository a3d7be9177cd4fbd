// A variational autoencoder of Fashion-MNIST over two replicas: the layer that draws an image's code adds the code's KL
// divergence to the loss of `fit`.
//   vae [IMAGES [EPOCHS]]
// Writes vae.png with 64 images that the decoder makes of random codes, vae_encoder.keras and vae_decoder.keras.

#include <memory>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

constexpr std::int64_t side = 28, code_size = 8;

/// Draws codes from normal distributions with the given means and logarithms of variances, (n, code_size) each. Adds
/// the distributions' KL divergence from the standard normal one, divided by the number of pixels, to the loss.
class SamplingImpl : public LayerImpl {
 public:
  SamplingImpl() : LayerImpl("sampling") {}
  std::string_view class_name() const override { return "Sampling"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& mu = inputs[0];
    const Tensor& log_variance = inputs[1];
    add_loss(mean(sum(square(mu) + exp(log_variance) - log_variance - 1.0, {1})) * (0.5 / (side * side)));
    return mu + exp(log_variance / 2) * normal(mu.shape(), 0, 1, [&] { return draws_.next(); });
  }
  RandomDraws* random_draws() override { return &draws_; }

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override { draws_.start(seed.key(0)); }
  RandomDraws draws_;
};

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

/// Pixels of 0 to 1, which are both x and y.
Dataset load(const FashionMnistOptions& options) {
  return Dataset::from_tensors(load_fashion_mnist(options))
      .shuffle()
      .batch(64)
      .map(image_preparation({.mean = Tensor::zeros({side, side}), .padding = 0, .channels = 1}))
      .map(RowTransform([](const Batch& images) { return images.with_y(images.x()); }));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t limit = argc > 1 ? std::stoll(argv[1]) : 60000;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 5;
  const Dataset train = load({.limit = limit});
  const Dataset test = load({.split = Split::test, .limit = limit});

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  const Model encoder = make_encoder();
  Model decoder = make_decoder();
  const Symbol code = Layer(std::make_shared<SamplingImpl>())(encoder.outputs());
  Model vae(encoder.inputs(), decoder(code), {.name = "vae"});
  vae.compile(Adam({.learning_rate = 1e-3}), BinaryCrossentropy());
  vae.fit(train, {.epochs = epochs, .verbose = 1});

  MetricTracker of_mean_image{MeanMetricWrapper(BinaryCrossentropy())};
  const Tensor mean_pixels = expand_dims(mean_image(load_fashion_mnist({.limit = limit}).x()), -1);
  for (const Batch& batch : test.epoch())
    of_mean_image.update_state(batch.y(), broadcast_to(mean_pixels, batch.y().shape()));
  fmt::print("loss of test images, in nats for each pixel: {:.3f}; if all codes gave the mean image: {:.3f}\n",
             vae.evaluate(test).at("loss"), of_mean_image.result());

  const Tensor images = decoder.predict(normal({64, code_size}, 0, 1, [] { return RandomKey{}; }));
  const Tensor grid = transpose(reshape(images, {8, 8, side, side}), {0, 2, 1, 3});
  write_image("vae.png", cast(reshape(grid, {8 * side, 8 * side, 1}) * 255.0, DType::u8));
  encoder.save("vae_encoder.keras");
  decoder.save("vae_decoder.keras");
} catch (const std::exception& error) {
  fmt::print(stderr, "vae: {}\n", error.what());
  return 1;
}
