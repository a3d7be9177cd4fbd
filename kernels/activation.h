#pragma once

namespace lockstep {

/// Activation functions of layers, with Keras' names and default parameters; formulas are in array/activations.h. The
/// parameters are: leaky_relu, a slope of 0.2 below 0; elu, alpha = 1; squareplus, b = 4; hard_shrink and soft_shrink,
/// a threshold of 0.5. celu, with Keras' default alpha of 1, equals elu. exponential is exp. gelu_tanh is Keras' gelu
/// with approximate=True. hard_sigmoid is that of Keras 3 (slope 1/6), keras_2_hard_sigmoid that of Keras 2 (slope
/// 0.2); sparse_sigmoid has the slope 1/2. silu is also called swish, and hard_silu is also called hard_swish.
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
