// Contrastive learning (SimCLR): without labels, an encoder learns over three replicas to recognize shifted images of
// Fashion-MNIST. Each image is compared with the images of all replicas. Because `all_gather` is differentiable, three
// replicas train like one replica that has the whole batch.
//   contrastive [IMAGES [EPOCHS]]
// Writes encoder.keras.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

constexpr double temperature = 0.2;

/// Batches of a randomly shifted view of each image.
Dataset views(const Dataset& images, std::uint64_t seed) {
  return images.map(image_augmentation({.width_shift_range = 0.15, .height_shift_range = 0.15, .seed = seed}))
      .batch(128)
      .map(image_preparation({.mean = Tensor::zeros({28, 28}), .padding = 0, .channels = 1}));
}

/// The encoder: images to unit vectors of shape (32).
Model make_encoder() {
  const Symbol images = Input({28, 28, 1});
  Symbol x = images;
  for (const std::int64_t filters : {16, 32})
    x = Conv2D({.filters = filters, .kernel_size = {3, 3}, .strides = {2, 2}, .activation = Activation::relu})(x);
  x = Dense({.units = 64, .activation = Activation::relu})(Flatten()(x));
  return {images, UnitNormalization()(Dense({.units = 32})(x)), {.name = "encoder"}};
}

/// The NT-Xent loss of each of this replica's views, (n, d) vectors of length 1: the cross-entropy of finding the other
/// view of the same image among the views of all replicas' images.
Tensor nt_xent(const Tensor& own, const Tensor& other, const Tensor& numbers) {
  const ReplicaContext replica = get_replica_context();
  const std::vector<Tensor> all = replica.all_gather(std::vector{own, other}, 0);
  const Tensor same = equal(expand_dims(numbers, 1), expand_dims(replica.all_gather(numbers, 0), 0));
  const Tensor to_other = matmul(own, transpose(all[1])) / temperature;
  const Tensor to_own = where(same, -1e9, matmul(own, transpose(all[0])) / temperature);  // excludes each view itself
  return sparse_softmax_cross_entropy(concatenate(std::vector{to_other, to_own}, 1), argmax(cast(same, DType::f32), 1));
}

/// Trains an encoder on pairs of views, whose targets y are the indices of their images. Returns the encoder and the
/// mean loss of each epoch.
std::pair<Model, std::vector<double>> train(const Strategy& strategy, const Dataset& pairs, int epochs) {
  const auto scope = strategy.scope();
  Model encoder = make_encoder();
  const Adam optimizer({.learning_rate = 2e-3});
  std::vector<double> losses;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    MetricTracker mean_loss{Mean()};
    for (const DistributedBatch& batch : strategy.distribute(pairs).epoch(static_cast<std::uint64_t>(epoch)))
      strategy.run(
          [&](const Batch& local) {
            GradientTape tape;
            const Tensor a = encoder(local.inputs[0], Mode::train);
            const Tensor b = encoder(local.inputs[1], Mode::train);
            const Tensor loss = (nt_xent(a, b, local.y()) + nt_xent(b, a, local.y())) / 2;
            mean_loss.update_state({}, loss);
            optimizer.minimize(tape, compute_average_loss(loss, {.global_batch_size = batch.global_size()}),
                               encoder.trainable_variables());
          },
          batch);
    losses.push_back(mean_loss.result());
  }
  return {encoder, losses};
}

/// The fraction of images whose first view has a code that is more similar to the code of their own second view than to
/// the codes of all other images' second views.
double fraction_recognized(Model encoder, const Tensor& images) {
  const auto encoded = [&](std::uint64_t seed) {
    return encoder.predict(views(Dataset::from_tensors(images), seed), {.verbose = 0});
  };
  const Tensor most_similar = argmax(matmul(encoded(3), transpose(encoded(4))), 1);
  const Tensor numbers = arange(static_cast<double>(images.dim(0)), DType::i64);
  return mean(cast(equal(most_similar, numbers), DType::f32)).item<float>();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t limit = argc > 1 ? std::stoll(argv[1]) : 10000;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 5;
  const Tensor images = load_fashion_mnist({.limit = limit}).x();
  const Tensor test = load_fashion_mnist({.split = Split::test, .limit = 1000}).x();
  const Dataset numbered =
      Dataset::from_tensors(images, arange(static_cast<double>(images.dim(0)), DType::i64)).shuffle();
  const Dataset pairs = Dataset::zip({views(numbered, 1), views(numbered, 2)}).prefetch();

  const auto [encoder, losses] = train(MirroredStrategy({"CPU:0", "CPU:1", "CPU:2"}), pairs, epochs);
  const auto [one_replica, its_losses] = train(OneDeviceStrategy("CPU:0"), pairs, epochs);
  double difference = 0;
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch)
    difference = std::max(difference, std::abs(losses[epoch] - its_losses[epoch]));
  fmt::print("loss {:.3f} in the first epoch, {:.3f} in the last; with one replica it differs by at most {:.3f}\n",
             losses.front(), losses.back(), difference);
  fmt::print("{:.3f} of {} test images recognized, before the training {:.3f}\n", fraction_recognized(encoder, test),
             test.dim(0), fraction_recognized(make_encoder(), test));
  encoder.save("encoder.keras");
} catch (const std::exception& error) {
  fmt::print(stderr, "contrastive: {}\n", error.what());
  return 1;
}
