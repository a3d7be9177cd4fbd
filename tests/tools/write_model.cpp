// write_model FILE.keras INPUTS UNITS [text|probabilities|gpt|ignore]: writes an untrained model of one dense layer,
// compiled for regression if it has one unit, otherwise for classification by its logits. With "text", its inputs are
// ids below UNITS, for each of which it gives the logits of the next one; with "probabilities", it gives the
// probabilities, by a layer in a TimeDistributed; "gpt" is a GPT that takes up to INPUTS ids; with "ignore", the loss
// leaves out the label -1.

#include <string>
#include <vector>

#include <lockstep/lockstep.h>

using namespace lockstep;

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) return 2;
  const std::int64_t units = std::stoll(argv[3]);
  const std::string kind = argc > 4 ? argv[4] : "";
  std::vector<Layer> layers{Dense({.units = units})};
  if (kind == "probabilities") layers = {TimeDistributed(Dense({.units = units, .activation = Activation::softmax}))};
  if (kind == "text" || kind == "probabilities")
    layers.insert(layers.begin(), Embedding({.input_dim = units, .output_dim = 4}));
  const std::int64_t inputs = std::stoll(argv[2]);
  Model model = kind == "gpt" ? zoo::gpt({.vocabulary = units, .context = inputs, .layers = 1, .width = 8, .heads = 2})
                              : Sequential({inputs}, layers, {.seed = 1});
  SparseCrossentropyOptions labels{.from_logits = true};
  if (kind == "ignore") labels.ignore_class = -1;
  const Loss loss = units == 1 ? Loss(MeanSquaredError()) : SparseCategoricalCrossentropy(labels);
  model.compile(SGD({.learning_rate = 0.01}), loss);
  model.save(argv[1]);
}
