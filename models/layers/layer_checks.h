#pragma once

#include <span>
#include <string_view>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/activations.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/shape.h>

// What layers ask of their inputs' shapes, which are without the batch axis, and of their activations.

namespace lockstep {

/// The one input of a layer. Throws InvalidArgument when there are more or none.
inline const Shape& only_input(std::string_view layer, std::span<const Shape> inputs) {
  require(inputs.size() == 1, "{} takes one input, got {}", layer, inputs.size());
  return inputs[0];
}

/// The one input of a layer of images. Throws InvalidArgument unless it is (height, width, channels).
inline const Shape& only_image(std::string_view layer, std::span<const Shape> inputs) {
  const Shape& shape = only_input(layer, inputs);
  require(shape.rank() == 3, "{} takes images (height, width, channels), got {}", layer, shape);
  return shape;
}

/// Whether the activation's op takes bf16: the softmaxes, which sum, do not.
inline bool has_bf16(Activation activation) {
  return activation != Activation::softmax && activation != Activation::log_softmax;
}

/// compute(activation), the result of a layer's call. A loss may need the logits of the network's outputs.
template <class Compute>
Tensor activated(const LayerCall& call, Activation activation, const Compute& compute) {
  if (call.is_output && activation == Activation::softmax) return softmax(compute(Activation::linear));
  if (call.is_output && activation == Activation::sigmoid) return sigmoid(compute(Activation::linear));
  return compute(activation);
}

/// The shape of a batch of one.
inline Shape with_batch_axis(const Shape& shape) {
  Shape result{1};
  for (const std::int64_t size : shape) result.push_back(size);
  return result;
}

}  // namespace lockstep
