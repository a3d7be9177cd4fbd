// Trains a Dense(32) model on three devices, with multi_gpu_model and with a strategy. The tutorial that this example
// follows used multi_gpu_model with even numbers of devices only. Then saves and loads a parallel model repeatedly,
// which the tutorial warns against.
//   any_number_of_devices [EXAMPLES]

#include <filesystem>
#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

Model small_model() {
  const Symbol a = Input({32});
  return Model(a, Dense({.units = 32})(a));
}

Dataset random_examples(std::int64_t count) {
  std::mt19937 generator(0);
  const Tensor x = Tensor::empty({count, 32});
  for (float& value : x.span<float>()) value = static_cast<float>(generator()) / 4294967296.0F;
  return Dataset::from_tensors(x, x);  // the model learns to reproduce its input
}

Loss squared_error() {
  return Loss("squared_error",
              [](const Tensor& y_true, const Tensor& y_pred) { return sum(square(y_pred - y_true), {1}) / 32.0; });
}

double train(Model model, const Dataset& batches) {
  model.compile(SGD({.learning_rate = 0.5}), squared_error());
  return model.fit(batches, {.epochs = 3, .verbose = 0}).values.at("loss").back();
}

}  // namespace

int main(int argc, char** argv) try {
  const Dataset batches = random_examples(argc > 1 ? std::stoll(argv[1]) : 10000).batch(64);

  const Model model = small_model();  // the template: weights on the CPU
  const ParallelModel parallel = multi_gpu_model(model, {.devices = {"CPU:0", "CPU:1", "CPU:2"}});
  fmt::print("multi_gpu_model: loss {:.6f}\n", train(parallel, batches));

  const MirroredStrategy strategy({"CPU:0", "CPU:1", "CPU:2"});
  Model mirrored = strategy.scope([] { return small_model(); });
  fmt::print("MirroredStrategy: loss {:.6f}\n", train(mirrored, batches));

  const std::string path = "any_number_of_devices.weights.h5";
  parallel.save_weights(path);
  const auto size = std::filesystem::file_size(path);
  for (int time = 0; time < 10; ++time) {
    Model loaded = mirrored;
    loaded.load_weights(path);  // the model on three replicas loads weights saved by multi_gpu_model
    loaded.save_weights(path);
  }
  const auto size_now = std::filesystem::file_size(path);
  fmt::print("saved and loaded 10 times: {} bytes, {}\n", size_now,
             size_now == size ? "as at first" : fmt::format("at first {}", size));
  std::filesystem::remove(path);
} catch (const std::exception& error) {
  fmt::print(stderr, "any_number_of_devices: {}\n", error.what());
  return 1;
}
