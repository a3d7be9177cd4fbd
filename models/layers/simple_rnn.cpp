#include "lockstep/models/layers/simple_rnn.h"

#include <lockstep/models/layers/recurrent.h>

namespace lockstep {

void SimpleRnnOptions::describe(LayerConfig& config) { list_recurrent(config, *this); }

SimpleRNN::SimpleRNN(const SimpleRnnOptions& options)
    : Layer(std::make_shared<RecurrentImpl<SimpleRnnOptions>>(
          "SimpleRNN", RecurrentOps{nullptr, nullptr, simple_rnn, false}, 1, Shape{options.units}, options)) {}

}  // namespace lockstep
