#include "lockstep/models/layers/simple_rnn.h"

#include <lockstep/models/layers/recurrent.h>

namespace lockstep {

SimpleRNN::SimpleRNN(const SimpleRnnOptions& options)
    : Layer(std::make_shared<RecurrentImpl<SimpleRnnOptions>>(
          "SimpleRNN", RecurrentOps{nullptr, nullptr, simple_rnn, false}, 1, Shape{options.units}, options)) {}

SimpleRNN SimpleRNN::from_config(LayerConfig& config) {
  return SimpleRNN(read_options(config, list_recurrent<SimpleRnnOptions>));
}

}  // namespace lockstep
