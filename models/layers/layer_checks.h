#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/batch_axis.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/shape.h>
#include <lockstep/runtime/tensor/tensor.h>

// Checks of layers' input shapes, which are without the batch axis, and helpers for their inputs, activations and
// activity regularizers.

namespace lockstep {

/// The shape of the input of a layer with one input. Throws InvalidArgument unless there is exactly one.
inline const Shape& only_input(std::string_view layer, std::span<const Shape> inputs) {
  require(inputs.size() == 1, "{} takes one input, got {}", layer, inputs.size());
  return inputs[0];
}

/// The shape of the input of a layer that takes one batch of images. Throws InvalidArgument unless it is (height,
/// width, channels).
inline const Shape& only_image(std::string_view layer, std::span<const Shape> inputs) {
  const Shape& shape = only_input(layer, inputs);
  require(shape.rank() == 3, "{} takes images (height, width, channels), got {}", layer, shape);
  return shape;
}

/// The shape of the input of a layer that takes one batch of sequences. Throws InvalidArgument unless it is (steps,
/// features).
inline const Shape& only_sequence(std::string_view layer, std::span<const Shape> inputs) {
  const Shape& shape = only_input(layer, inputs);
  require(shape.rank() == 2, "{} takes sequences (steps, features), got {}", layer, shape);
  return shape;
}

/// The shape of the input of a layer for sequences, if `is_1d`, or for images. Throws the same errors as only_sequence
/// and only_image, and InvalidArgument if a spatial axis has size 0.
inline const Shape& only_filled(std::string_view layer, std::span<const Shape> inputs, bool is_1d) {
  const Shape& shape = is_1d ? only_sequence(layer, inputs) : only_image(layer, inputs);
  require(shape[0] >= 1 && (is_1d || shape[1] >= 1), "{} needs {}, got {}", layer,
          is_1d ? "sequences of at least one step" : "images of at least one pixel", shape);
  return shape;
}

///@{
/// Throws InvalidArgument unless `size`, called `what` in the message, is at least 1.
inline void check_size(std::string_view layer, std::string_view what, std::int64_t size) {
  require(size >= 1, "{} needs {} of at least 1, got {}", layer, what, size);
}
inline void check_size(std::string_view layer, std::string_view what, Size2d size) {
  require(size.height >= 1 && size.width >= 1, "{} needs {} of at least 1, got ({}, {})", layer, what, size.height,
          size.width);
}
///@}

/// Throws InvalidArgument unless `size`, a result's number of elements along an axis, is below 2^62.
inline void check_size_of_result(std::string_view layer, const Shape& input, double size) {
  require(size < 0x1p62, "{} of {}: a result of {:.0f} elements along an axis is too large", layer, input, size);
}

/// The given axes of a batch of this input, sorted; negative ones, which count from the end, become positive. Throws
/// InvalidArgument if `axes` is empty, for an axis that the batch does not have or that is given twice, and for the
/// batch axis, 0.
std::vector<int> axes_of(std::string_view layer, const std::vector<int>& axes, const Shape& input);

/// Sequences (n, steps, features) as images of one row, (n, 1, steps, features). Dense tensors are not copied.
inline Tensor as_images(const Tensor& x) { return reshape(x, {x.dim(0), 1, x.dim(1), x.dim(2)}); }

/// The shape of a batch with one example: an image, or a sequence as an image of one row.
inline Shape as_images(const Shape& input) {
  return input.rank() == 2 ? Shape{1, 1, input[0], input[1]} : with_batch_axis(input);
}

///@{
/// The size along both axes of an image. Returns a Size2d unchanged. A sequence is treated as an image of one row: its
/// size becomes {of_rows, size}.
inline Size2d for_images(Size2d size, std::int64_t /*of_rows*/ = 1) { return size; }
inline Size2d for_images(std::int64_t size, std::int64_t of_rows = 1) { return {of_rows, size}; }
///@}

/// softmax or sigmoid of `logits`; the result keeps the logits (Tensor::origin).
Tensor with_logits(Activation activation, const Tensor& logits);

/// The result of a layer's call, compute(activation). A softmax or sigmoid that computes an output of the network is
/// applied to compute(linear) instead, so that its result keeps the logits for losses.
template <class Compute>
Tensor activated(const LayerCall& call, Activation activation, const Compute& compute) {
  const bool has_logits = activation == Activation::softmax || activation == Activation::sigmoid;
  return call.is_output && has_logits ? with_logits(activation, compute(Activation::linear)) : compute(activation);
}

/// Returns `result`. Adds the regularizer's penalty on it, divided by the number of examples, to the model's loss
/// (AddedLosses); without examples, the penalty is not divided.
Tensor penalized(const LayerCall& call, const Regularizer& activity_regularizer, const Tensor& result);

/// Like activated() for options.activation, with the penalty of options.activity_regularizer.
template <class Options, class Compute>
Tensor activated_and_penalized(const LayerCall& call, const Options& options, const Compute& compute) {
  return penalized(call, options.activity_regularizer, activated(call, options.activation, compute));
}

}  // namespace lockstep
