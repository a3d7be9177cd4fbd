#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Layers connected from one input to one output, and the plan of running them. At construction it names the layers as
/// Keras does (conv2d, conv2d_1, ...) and builds them in the strategy whose scope is open; the same seed gives the same
/// initial weights.
class Network {
 public:
  /// Throws InvalidArgument when `output` does not depend on `input`, or on another input.
  Network(const Symbol& input, const Symbol& output, std::uint64_t seed);

  /// x (n, input shape) -> (n, output shape), on the calling replica's copy of the weights.
  /// Throws InvalidArgument for another shape.
  Tensor operator()(const Tensor& x, Mode mode) const;

  const Shape& input_shape() const { return input_shape_; }
  const Shape& output_shape() const { return output_shape_; }
  /// Each layer once, in the order of first use, the input not counted.
  const std::vector<Layer>& layers() const { return layers_; }
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  /// Elements of all variables.
  std::int64_t count_params() const;
  /// Keras' table: layer and class, output shape, parameters, connections; totals at the end. `name` heads it.
  std::string summary(const std::string& name) const;
  const Strategy& strategy() const { return strategy_; }

 private:
  // What the plan adds to the layers as they were connected: a batch norm followed by nothing but a ReLU does both in
  // one pass, and results that only feed a concatenation are written straight into their slice of it.
  struct Step {
    int layer = -1;               ///< index into layers_; -1 for a step whose work an earlier one does
    std::vector<int> inputs;      ///< indices of steps, -1 for the model's input
    bool fused_relu = false;
    int concat = -1;              ///< the concatenation that this step writes its slice of
    std::int64_t concat_offset = 0;  ///< where in the last axis
    int last_use = -1;            ///< the last step that reads this one's result
    Shape shape;                  ///< of the result, without the batch axis
  };

  Strategy strategy_;
  Shape input_shape_;
  Shape output_shape_;
  std::vector<Layer> layers_;
  std::vector<Step> steps_;
};

}  // namespace lockstep
