// The lockstep side of the interop tests; keras_interop.py runs this program and compares the results.
//   interop_driver parameters MODEL                    prints the number of parameters
//   interop_driver config MODEL                        prints the number of parameters and Keras' JSON configuration
//   interop_driver save MODEL WEIGHTS INPUTS OUTPUTS   randomizes the model, saves its weights, writes its predictions
//   interop_driver copy MODEL WEIGHTS OTHER_WEIGHTS    loads the first file, saves the second
//   interop_driver predict MODEL WEIGHTS INPUTS OUTPUTS  loads weights, writes predictions
//   interop_driver train MODEL INPUTS OUTPUTS          writes the model's results in training
//   interop_driver draw FOLDER                         prints the dtypes of the random ops' results; writes the results
//                                                      of a key, the next key and the first key to FOLDER/OP0 to OP2
// INPUTS and OUTPUTS are rows of little-endian f32 without a header; several inputs follow one another.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/zoo/mini_googlenet.h>
#include <lockstep/models/zoo/mlp.h>
#include <lockstep/models/zoo/siamese_lstm.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

#include "layers_models.h"
#include "random_layers.h"
#include "random_ops.h"
#include "randomize.h"

namespace lockstep {
namespace {

/// Branches of unequal length and a layer that is called twice: the order in which layers of a class are called differs
/// from the order in which Keras numbers them.
Model branches() {
  const Symbol input = Input({9, 9, 3});
  const Symbol near = Conv2D({.filters = 4, .kernel_size = {3, 3}, .padding = Padding::same})(input);
  Symbol far = Conv2D({.filters = 6, .kernel_size = {1, 1}})(input);
  far = ActivationLayer(Activation::relu)(BatchNormalization()(far));
  far = Conv2D({.filters = 4, .kernel_size = {3, 3}, .padding = Padding::same})(far);
  Symbol x = Concatenate()({near, far});
  const Conv2D shared({.filters = 8, .kernel_size = {3, 3}, .strides = {1, 1}, .padding = Padding::same});
  const Symbol once = BatchNormalization()(shared(x));
  const Symbol twice = shared(ActivationLayer(Activation::tanh)(once));
  x = Concatenate()({once, twice, x});
  const Symbol largest = MaxPooling2D({.pool_size = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same})(x);
  const Symbol mean = AveragePooling2D({.pool_size = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same})(x);
  return {input, Dense({.units = 5})(Flatten()(Concatenate()({mean, largest})))};
}

/// An LSTM that passes every time step to another, which returns its last one.
Model lstm() {
  const Symbol input = Input({9, 5});
  const Symbol sequence = LSTM({.units = 8, .return_sequences = true})(input);
  return {input, Dense({.units = 4})(LSTM({.units = 6})(sequence))};
}

Model make_model(const std::string& name) {
  if (const std::optional<Model> model = layers_model(name)) return *model;
  if (const std::optional<Model> model = random_layer_model(name)) return *model;
  if (name == "minigooglenet") return zoo::mini_googlenet({32, 32, 3}, 10);
  if (name == "mlp") return zoo::mlp({.inputs = 80, .hidden = {40, 20, 10, 6}});
  if (name == "full_mlp") return zoo::mlp();
  if (name == "branches") return branches();
  if (name == "lstm") return lstm();
  if (name == "siamese_lstm") return zoo::siamese_lstm();
  if (std::optional<Model> model = application_model(name)) return *std::move(model);
  fail("there is no model '{}'", name);
}

/// Reads the inputs of the model, which all have the same number of rows.
std::vector<Tensor> read_inputs(const Model& model, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  require<InputError>(in.good(), "{} cannot be read", path);
  std::int64_t row_elements = 0;
  for (const NetworkInput& input : model.network().inputs()) row_elements += input.shape.elements();
  const std::int64_t rows = static_cast<std::int64_t>(bytes.size() / sizeof(float)) / row_elements;
  std::vector<Tensor> xs;
  const auto* next = reinterpret_cast<const float*>(bytes.data());
  for (const NetworkInput& input : model.network().inputs()) {
    Shape shape{rows};
    for (const std::int64_t size : input.shape) shape.push_back(size);
    xs.push_back(Tensor::from(std::span(next, static_cast<std::size_t>(shape.elements())), shape));
    next += shape.elements();
  }
  return xs;
}

void write(const Tensor& results, const std::string& path) {
  const std::vector<float> y = results.to_vector<float>();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(y.data()), static_cast<std::streamsize>(y.size() * sizeof(float)));
  require<InputError>(out.flush().good(), "{} cannot be written", path);
}

void predict(Model& model, const std::string& inputs, const std::string& outputs) {
  const std::vector<Tensor> xs = read_inputs(model, inputs);
  write(model.predict(Dataset::from_tensors({xs, {}}).batch(4)), outputs);
}

void draw(const std::string& folder) {
  for (const auto& [op, call] : random_ops())
    for (int i = 0; i < 3; ++i) {
      const RandomKey key{.seed = 1, .step = i == 1 ? 1U : 0U};
      const Tensor numbers = call([key] { return key; });
      write(numbers, fmt::format("{}/{}{}", folder, op, i));
      if (i == 0) fmt::print("{} {}\n", op, name(numbers.dtype()));
    }
}

void run(std::span<const std::string> words) {
  require(words.size() == 2 || words.size() == 4 || words.size() == 5, "usage: see interop_driver.cpp");
  if (words[0] == "draw") return draw(words[1]);
  if (words[0] == "train") {
    const Model on_one_device = make_model(words[1]);
    return write(on_one_device(read_inputs(on_one_device, words[2]), Mode::train), words[3]);
  }
  const MirroredStrategy strategy;
  Model model = strategy.scope([&] { return make_model(words[1]); });
  if (words[0] == "parameters") {
    fmt::print("{}\n", model.count_params());
    return;
  }
  if (words[0] == "config") {
    fmt::print("{}\n{}\n", model.count_params(), network_config(keras_model(model.network(), model.name())).dump());
    return;
  }
  if (words[0] == "copy") {
    load_weights(model.network(), words[2]);
    save_weights(model.network(), words[3]);
    return;
  }
  if (words[0] == "save") {
    randomize(model);
    save_weights(model.network(), words[2]);
  } else {
    load_weights(model.network(), words[2]);
  }
  predict(model, words[3], words[4]);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    lockstep::run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "interop_driver: {}\n", error.what());
    return 1;
  }
}
