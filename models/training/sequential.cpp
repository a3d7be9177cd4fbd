#include "lockstep/models/training/sequential.h"

namespace lockstep {

struct Sequential::Ends {
  Symbol input;
  Symbol output;

  Ends(const Shape& input_shape, const std::vector<Layer>& layers) : input(Input(input_shape)), output(input) {
    require(!layers.empty(), "a Sequential model needs at least one layer");
    for (const Layer& layer : layers) {
      const std::vector<Symbol> results = layer.results({output});
      require(results.size() == 1, "a Sequential model takes layers with one result, got {} with {}",
              layer.impl().class_name(), results.size());
      output = results[0];
    }
  }
};

Sequential::Sequential(const Shape& input_shape, const std::vector<Layer>& layers, const ModelOptions& options)
    : Sequential(Ends(input_shape, layers), options) {}

Sequential::Sequential(const Ends& ends, const ModelOptions& options)
    : Model({ends.input}, {ends.output}, options, "Sequential") {}

}  // namespace lockstep
