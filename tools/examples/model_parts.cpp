// Splits one large model over several devices, where multi_gpu_model would only copy it: three parts of four layers,
// each on a device with memory for one part only. Training the whole model on one such device fails.
//   model_parts [WIDTH [STEPS]]

#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

/// A model with one part on each device; the last device also has the output.
Model in_parts(std::int64_t width, const std::vector<std::string>& devices) {
  const Symbol input = Input({width});
  Symbol x = input;
  for (const std::string& device : devices)
    with_device(device, [&] {
      for (int layer = 0; layer < 4; ++layer) x = Dense({.units = width, .activation = Activation::tanh})(x);
    });
  return {input, with_device(devices.back(), [&] { return Dense({.units = 1})(x); }), {.seed = 1}};
}

/// Trains on random numbers; the label of a row is the sign of its first number. Returns the last loss.
double train(Model model, std::int64_t width, int steps) {
  std::mt19937 generator(0);
  const Tensor x = Tensor::empty({64, width});
  for (float& value : x.span<float>()) value = static_cast<float>(generator()) / 2147483648.0F - 1.0F;
  const Tensor y = Tensor::empty({64, 1});
  for (std::int64_t row = 0; row < 64; ++row) y.data<float>()[row] = x.data<float>()[row * width] > 0 ? 1 : 0;
  model.compile(SGD({.learning_rate = 0.1, .momentum = 0.9}), BinaryCrossentropy({.from_logits = true}));
  return model.fit(Dataset::from_tensors(x, y).batch(64), {.epochs = steps, .verbose = 0}).values.at("loss").back();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t width = argc > 1 ? std::stoll(argv[1]) : 512;
  const int steps = argc > 2 ? std::stoi(argv[2]) : 5;
  const std::int64_t part = 4 * width * width * 4;  // bytes of the kernels of one part
  const auto device = [&](int i) { return fmt::format("CPU:{}@{}", i, 5 * part); };

  const Model model = in_parts(width, {device(0), device(1), device(2)});
  fmt::print("{} parameters, a third on each device: loss {:.4f}\n", model.count_params(), train(model, width, steps));
  try {
    train(in_parts(width, {device(3), device(3), device(3)}), width, steps);
    fmt::print("on one device alone: there was memory\n");
  } catch (const OutOfMemory& error) {
    fmt::print("on one device alone: {}\n", error.what());
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "model_parts: {}\n", error.what());
  return 1;
}
