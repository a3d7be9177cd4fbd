#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/models/graph/plan.h>
#include <lockstep/models/graph/symbol.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Layers connected from one input to one output, and the plan of running them. At construction it names the layers as
/// Keras does (conv2d, conv2d_1, ...) and builds them in the strategy whose scope is open; the same seed gives the same
/// initial weights. Layers run in the order in which they were called on symbols.
class Network {
 public:
  /// Throws InvalidArgument when `output` does not depend on `input`, or on another input, when two layers have one
  /// name, or when a layer has been built for other shapes or another strategy; LogicError inside a replica.
  Network(const Symbol& input, const Symbol& output, std::uint64_t seed);

  /// x (n, input shape) -> (n, output shape), on the calling replica's copy of the weights. Throws InvalidArgument for
  /// another shape, LogicError for training outside the replicas when there are several.
  Tensor operator()(const Tensor& x, Mode mode) const;

  const Shape& input_shape() const { return input_shape_; }
  const Shape& output_shape() const { return output_shape_; }
  /// Each layer once, in the order of first use, the input not counted.
  const std::vector<Layer>& layers() const { return layers_; }
  /// Every call of a layer, in the order in which they were made; the last one gives the output.
  const std::vector<GraphCall>& calls() const { return calls_; }
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  /// Elements of all variables.
  std::int64_t count_params() const;
  /// Keras' table: layer and class, output shape, parameters, connections; totals at the end. `name` heads it.
  std::string summary(const std::string& name) const;
  const Strategy& strategy() const { return strategy_; }

 private:
  void add_calls(const Symbol& input, const Symbol& output);
  void name_layers();
  void build_layers(std::uint64_t seed);
  void check_call(const Tensor& x, Mode mode) const;
  Tensor run_step(const PlanStep& step, std::span<const Tensor> inputs, LayerCall call) const;

  Strategy strategy_;
  Shape input_shape_;
  Shape output_shape_;
  std::string input_name_;
  std::vector<Layer> layers_;
  std::vector<GraphCall> calls_;
  std::vector<PlanStep> steps_;
};

}  // namespace lockstep
