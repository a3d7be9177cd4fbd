// Segmentation: a U-Net learns over two replicas which pixels of noisy images belong to discs.
//   unet [IMAGES [EPOCHS [SIDE]]]
// SIDE, the height and width of the images, is a multiple of 8.

#include <cmath>
#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

/// Images (side, side, 1) of noise with three discs that are a little brighter, and masks (side, side) that are 1 in
/// the discs.
Dataset discs(std::int64_t count, std::int64_t side, unsigned seed) {
  std::mt19937 generator(seed);
  const auto uniform = [&](double low, double high) { return low + (high - low) * (generator() / 4294967296.0); };
  const Tensor x = Tensor::empty({count, side, side, 1});
  const Tensor y = Tensor::zeros({count, side, side}, DType::u8);
  for (float& pixel : x.span<float>()) pixel = static_cast<float>(uniform(-1, 1));
  const auto size = static_cast<double>(side);
  for (std::int64_t disc = 0; disc < 3 * count; ++disc) {
    const double row = uniform(0, size), column = uniform(0, size), radius = uniform(size / 12, size / 5);
    for (std::int64_t i = 0; i < side * side; ++i) {
      std::uint8_t& mask = y.data<std::uint8_t>()[disc / 3 * side * side + i];
      const double distance = std::hypot(static_cast<double>(i / side) - row, static_cast<double>(i % side) - column);
      if (mask == 1 || distance > radius) continue;
      mask = 1;
      x.data<float>()[disc / 3 * side * side + i] += 0.75F;
    }
  }
  return Dataset::from_tensors(x, y);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t count = argc > 1 ? std::stoll(argv[1]) : 512;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 10;
  const std::int64_t side = argc > 3 ? std::stoll(argv[3]) : 64;
  const Dataset train = discs(count, side, 1).shuffle().batch(16).prefetch();
  const Dataset test = discs(64, side, 2).batch(16);

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  Model model = zoo::unet({side, side, 1}, 2, {.filters = 8, .levels = 3, .synchronized = true});
  model.compile(Adam({.learning_rate = 2e-3}), SparseCategoricalCrossentropy({.from_logits = true}),
                {IoU({.num_classes = 2, .target_class_ids = {1}, .sparse_y_pred = false})});
  const History history = model.fit(train, {.epochs = epochs});
  fmt::print("loss {:.3f}, IoU of the discs {:.3f}, of the test images' {:.3f}\n", history.values.at("loss").back(),
             history.values.at("io_u").back(), model.evaluate(test).at("io_u"));
} catch (const std::exception& error) {
  fmt::print(stderr, "unet: {}\n", error.what());
  return 1;
}
