// The example of multi_gpu_model in Keras' R documentation: Xception without pre-trained weights on random images, a
// batch of 256 split over 8 devices, rmsprop; the weights are saved through the template model.
//   xception WEIGHTS [EXAMPLES [SIZE [CLASSES [BATCH [EPOCHS]]]]]     writes WEIGHTS, a .weights.h5 file

#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

Tensor uniform(const Shape& shape, std::mt19937& generator) {
  const Tensor x = Tensor::empty(shape);
  for (float& value : x.span<float>()) value = static_cast<float>(generator()) / 4294967296.0F;
  return x;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string weights = argc > 1 ? argv[1] : "xception.weights.h5";
  const std::int64_t examples = argc > 2 ? std::stoll(argv[2]) : 1000;
  const std::int64_t size = argc > 3 ? std::stoll(argv[3]) : 224;
  const std::int64_t classes = argc > 4 ? std::stoll(argv[4]) : 1000;
  const std::int64_t batch = argc > 5 ? std::stoll(argv[5]) : 256;
  const int epochs = argc > 6 ? std::stoi(argv[6]) : 20;

  const Model model = zoo::xception({.input_shape = {size, size, 3}, .classes = classes});
  std::vector<std::string> devices;
  for (int i = 0; i < 8; ++i) devices.push_back(fmt::format("CPU:{}", i));
  Model parallel_model = multi_gpu_model(model, {.devices = devices});
  parallel_model.compile(RMSprop(), CategoricalCrossentropy());

  std::mt19937 generator(0);
  const Tensor x = uniform({examples, size, size, 3}, generator);
  const Tensor y = uniform({examples, classes}, generator);
  const History history = parallel_model.fit(Dataset::from_tensors(x, y).batch(batch), {.epochs = epochs});
  fmt::print("loss {:.3f} after the first epoch, {:.3f} after the last\n", history.values.at("loss").front(),
             history.values.at("loss").back());
  model.save_weights(weights);
} catch (const std::exception& error) {
  fmt::print(stderr, "xception: {}\n", error.what());
  return 1;
}
