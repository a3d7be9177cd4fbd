// write_model FILE.keras INPUTS UNITS: writes an untrained model of one dense layer, compiled for regression if it has
// one unit, otherwise for classification by its logits.

#include <string>

#include <lockstep/lockstep.h>

using namespace lockstep;

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::int64_t units = std::stoll(argv[3]);
  Model model = Sequential({std::stoll(argv[2])}, {Dense({.units = units})}, {.seed = 1});
  const Loss loss = units == 1 ? Loss(MeanSquaredError()) : SparseCategoricalCrossentropy({.from_logits = true});
  model.compile(SGD({.learning_rate = 0.01}), loss);
  model.save(argv[1]);
}
