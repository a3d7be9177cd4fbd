#include "lockstep/models/layers/lstm.h"

#include <algorithm>

#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/models/layers/recurrent.h>

namespace lockstep {
namespace {

/// Initializes the forget gate's biases, the second of four parts, to 1 and the others by `others`.
SeededInitializer forget_ones(const SeededInitializer& others) {
  return [others](const RandomKey& key) -> Initializer {
    return [fill = others(key)](const Tensor& values) {
      fill(values);
      const std::span<float> all = values.span<float>();
      std::ranges::fill(all.subspan(all.size() / 4, all.size() / 4), 1.0F);
    };
  };
}

LstmOptions with_forget_bias(LstmOptions options) {
  if (options.unit_forget_bias) options.bias_initializer = forget_ones(options.bias_initializer);
  return options;
}

}  // namespace

void LstmOptions::describe(LayerConfig& config) { list_recurrent(config, *this); }

LSTM::LSTM(const LstmOptions& options)
    : Layer(std::make_shared<RecurrentImpl<LstmOptions>>("LSTM", RecurrentOps{lstm, lstm, lstm, true}, 4,
                                                         Shape{4 * options.units}, with_forget_bias(options))) {}

}  // namespace lockstep
