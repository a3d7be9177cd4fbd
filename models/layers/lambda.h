#pragma once

#include <functional>
#include <optional>
#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Lambda's options.
struct LambdaOptions {
  std::optional<Shape> output_shape{};  ///< without the batch axis; by default found by calling the function on zeros
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
};

/// Keras' Lambda: a C++ function as a layer without weights. `function` gets whole batches, (n, ...), in the layer's
/// compute dtype, and must keep the number of rows; replicas call it concurrently. It is differentiated if it consists
/// of differentiable ops. Files of whole models cannot hold it. `function` may be called with 0 rows: on replicas
/// without examples and, to find the shape of the result, if a row of an input has more than 2^24 elements. If the
/// latter call throws InvalidArgument, `function` is called with one row, unless this has more than 2^28 elements.
struct Lambda : Layer {
  ///@{
  /// Throws InvalidArgument for an empty function. A call of the layer throws it if the result of `function` and the
  /// first input differ in the number of rows, with the first overload for several inputs, and without output_shape for
  /// rows of more than 2^28 elements if `function` throws it for 0 rows.
  explicit Lambda(std::function<Tensor(const Tensor&)> function, const LambdaOptions& options = {});
  explicit Lambda(std::function<Tensor(std::span<const Tensor>)> function, const LambdaOptions& options = {});
  ///@}
};

}  // namespace lockstep
