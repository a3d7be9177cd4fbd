#pragma once

namespace lockstep {

/// What a layer may apply to its result, by Keras' names; leaky_relu has the slope 0.2, elu the factor 1. gelu_tanh is
/// Keras' gelu with approximate=True, silu is also called swish; hard_sigmoid has Keras 3's slope of 1/6,
/// keras_2_hard_sigmoid that of 0.2.
enum class Activation {
  linear,
  relu,
  relu6,
  leaky_relu,
  elu,
  selu,
  gelu,
  gelu_tanh,
  sigmoid,
  hard_sigmoid,
  keras_2_hard_sigmoid,
  silu,
  softplus,
  softsign,
  tanh,
  exponential,
  softmax,
  log_softmax
};

}  // namespace lockstep
