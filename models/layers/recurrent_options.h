#pragma once

#include <lockstep/models/layers/layer_config.h>

namespace lockstep {

/// Lists the options of a recurrent layer. Ignores Keras' options `unroll`, `seed` and `implementation`.
template <class Options>
void list_recurrent(LayerConfig& config, Options& options) {
  config.option("return_sequences", options.return_sequences);
  config.option("go_backwards", options.go_backwards);
  config.option("return_state", options.return_state);
  config.option("stateful", options.stateful);
  config.option("units", options.units);
  config.option("activation", options.activation);
  if constexpr (requires { options.recurrent_activation; })
    config.option("recurrent_activation", options.recurrent_activation);
  config.option("use_bias", options.use_bias);
  config.option("kernel_initializer", options.kernel_initializer);
  config.option("recurrent_initializer", options.recurrent_initializer);
  config.option("bias_initializer", options.bias_initializer);
  if constexpr (requires { options.unit_forget_bias; }) config.option("unit_forget_bias", options.unit_forget_bias);
  if constexpr (requires { options.reset_after; }) config.option("reset_after", options.reset_after);
  config.option("kernel_regularizer", options.kernel_regularizer);
  config.option("recurrent_regularizer", options.recurrent_regularizer);
  config.option("bias_regularizer", options.bias_regularizer);
  config.option("activity_regularizer", options.activity_regularizer);
  config.option("kernel_constraint", options.kernel_constraint);
  config.option("recurrent_constraint", options.recurrent_constraint);
  config.option("bias_constraint", options.bias_constraint);
  config.option("dropout", options.dropout);
  config.option("recurrent_dropout", options.recurrent_dropout);
  config.option("zero_output_for_mask", options.zero_output_for_mask);
  for (const char* key : {"unroll", "seed", "implementation"}) config.passed_over(key);
}

}  // namespace lockstep
