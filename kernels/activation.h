#pragma once

namespace lockstep {

/// Activation functions of layers, with Keras' names and default parameters; formulas are in array/activations.h.
/// leaky_relu has the slope 0.2 below 0; elu and celu have alpha = 1, so they are equal; squareplus has b = 4;
/// hard_shrink and soft_shrink have the threshold 0.5. The slope of hard_sigmoid is 1/6 (as in Keras 3), of
/// keras_2_hard_sigmoid 0.2 (as in Keras 2), and of sparse_sigmoid 1/2. exponential is exp. gelu_tanh is Keras' gelu
/// with approximate=True. silu is also called swish, and hard_silu is also called hard_swish.
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
  log_softmax,
  hard_silu,
  mish,
  log_sigmoid,
  squareplus,
  sparse_plus,
  celu,
  hard_tanh,
  hard_shrink,
  soft_shrink,
  tanh_shrink,
  sparse_sigmoid
};

}  // namespace lockstep
