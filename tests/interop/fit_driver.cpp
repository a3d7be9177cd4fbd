// Lockstep's side of fit_interop.py, which runs it and is the judge.
//   fit_driver MODEL FOLDER TRAINED
// Opens the model of two outputs on three replicas, trains it on the rows of FOLDER, prints the history, a value of
// each epoch in a line with its name, and saves it. FOLDER has x, label, length and sample_weight: little-endian f32
// without a header.

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

namespace lockstep {
namespace {

std::vector<float> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  require<InputError>(in.good() && !bytes.empty(), "{} cannot be read", path);
  const auto* values = reinterpret_cast<const float*>(bytes.data());
  return {values, values + bytes.size() / sizeof(float)};
}

Dataset read_data(const std::string& folder) {
  const std::vector<float> label = read(folder + "/label");
  const auto rows = static_cast<std::int64_t>(label.size());
  const std::vector<float> x = read(folder + "/x");
  return Dataset::from_tensors({Tensor::from(x, {rows, static_cast<std::int64_t>(x.size()) / rows})},
                               {Tensor::from(std::vector<std::int64_t>(label.begin(), label.end()), {rows}),
                                Tensor::from(read(folder + "/length"), {rows, 1})},
                               Tensor::from(read(folder + "/sample_weight"), {rows}));
}

void run(std::span<const std::string> words) {
  require(words.size() == 3, "usage: see fit_driver.cpp");
  const MirroredStrategy strategy(logical_cpus(3));
  const auto scope = strategy.scope();
  Model model = load_model(words[0]);
  model.compile(SGD({.learning_rate = 0.05, .momentum = 0.9}),
                {{.loss = SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {Accuracy()},
                  .weighted_metrics = {MeanMetricWrapper(SparseCategoricalCrossentropy({.from_logits = true}))}},
                 {.loss = Huber(), .loss_weight = 0.25, .metrics = {MeanMetricWrapper(MeanAbsoluteError())}}});
  const History history = model.fit(read_data(words[1]).batch(16), {.epochs = 3});
  for (const auto& [name, values] : history.values)
    for (const double value : values) fmt::print("{} {:.9g}\n", name, value);
  save_model(model, words[2]);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    lockstep::run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fit_driver: {}\n", error.what());
    return 1;
  }
}
