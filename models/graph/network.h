#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/graph/plan.h>
#include <lockstep/models/graph/symbol.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Layers connected from one or several inputs to one or several outputs, and their execution plan. At construction
/// it names the layers as Keras does (conv2d, conv2d_1, ...) and builds them in the open strategy's scope; the
/// same seed gives the same initial weights. Layers run in the order in which they were called on symbols; in Keras'
/// (running_order) where statistics move several times in a step.
///
/// A network that is called on symbols becomes part of another one with all of its layers: as in Keras, this includes
/// layers whose results are not used.
///
/// Each layer computes in the dtype of its policy (DTypePolicy): its inputs are cast, once for all readers
/// in that dtype; integers, such as ids, are not cast.
///
/// Model parallelism: a layer called on symbols in a DeviceScope runs on the scope's device, where it also keeps its
/// weights if that was its first call; other layers run on the caller's device. Inputs from another device are
/// copied, once for all readers there. A network that is called in a DeviceScope runs there as a whole.
/// Placement is for models outside of strategies' scopes.
class Network {
 public:
  /// Throws InvalidArgument when no output depends on an input, or one on others than the given, when two layers
  /// have one name, or when a layer has been built for other shapes or another strategy; LogicError inside a replica,
  /// and for placed layers in a strategy's scope.
  Network(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, std::uint64_t seed);
  ///@{
  /// The same to one output.
  Network(const std::vector<Symbol>& inputs, const Symbol& output, std::uint64_t seed)
      : Network(inputs, std::vector{output}, seed) {}
  Network(const Symbol& input, const Symbol& output, std::uint64_t seed) : Network(std::vector{input}, output, seed) {}
  ///@}

  /// x (n, input shape) for each input -> (n, output shape) for each output, on the calling replica's copy of the
  /// weights. Throws InvalidArgument for another number or shape, LogicError for training outside the replicas when
  /// there are several.
  std::vector<Tensor> run(const std::vector<Tensor>& xs, Mode mode) const;
  /// The one output. Throws also LogicError when there are several.
  Tensor operator()(const std::vector<Tensor>& xs, Mode mode) const;
  /// The same from one input.
  Tensor operator()(const Tensor& x, Mode mode) const { return (*this)(std::vector{x}, mode); }

  /// The same for the symbols of another network that this one becomes part of: its layers are called on them, and
  /// share their weights. Where the other network has a layer of the same name, it puts the model's before the name.
  /// `model` is this network's model, the same for all calls. Throws InvalidArgument for another number or shape.
  std::vector<Symbol> connect(const std::vector<Symbol>& inputs, const std::shared_ptr<const NestedModel>& model) const;

  /// In the order in which `run` takes them.
  const std::vector<NetworkInput>& inputs() const { return inputs_; }
  /// Of the first input.
  const Shape& input_shape() const { return inputs_.front().shape; }
  /// Of the first output.
  const Shape& output_shape() const { return calls_[static_cast<std::size_t>(outputs_.front())].shape; }
  /// The numbers of the calls that give the outputs.
  const std::vector<int>& outputs() const { return outputs_; }
  /// By output the name of the layer that gives it, or of the model that is part of this one; a name that is taken has
  /// "_1" after it, and so on, as in Keras 2.
  std::vector<std::string> output_names() const;
  /// Each layer once, in the order of first use, the input not counted.
  const std::vector<Layer>& layers() const { return layers_; }
  /// Every call of a layer, in the order in which they were made.
  const std::vector<GraphCall>& calls() const { return calls_; }
  /// Every call of a model that is part of this one, those within such a model left out.
  const std::vector<GraphModelCall>& model_calls() const { return model_calls_; }
  ///@{
  /// Those of all layers, in the layers' order; or those of them that are trainable.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  ///@}
  /// By variable its name as that of a file's weight, "layer/kernel": with the layer's name in this network, which is
  /// another than in the variable's own where a layer of a model was renamed. Each name once.
  std::vector<std::string> weight_names() const;
  /// Elements of all variables.
  std::int64_t count_params() const;
  /// The sum of all layers' regularization losses, each layer once, those that do not train left out; undefined if
  /// there are none.
  Tensor regularization_loss() const;
  /// Keras' table: layer and class, output shape, parameters, connections; totals at the end. `name` heads it.
  std::string summary(const std::string& name) const;
  /// The strategy in whose scope it was made.
  const Strategy& strategy() const { return strategy_; }

 private:
  void add_inputs(const std::vector<Symbol>& inputs);
  /// The model, if any, that each layer is part of.
  std::vector<std::string> add_calls(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs);
  void name_layers(const std::vector<std::string>& models);
  void build_layers(std::uint64_t seed);
  void check_call(const std::vector<Tensor>& xs, Mode mode) const;
  struct Run;  ///< one call of the network
  Tensor run_step(const PlanStep& step, Run& run) const;

  Strategy strategy_;
  std::vector<NetworkInput> inputs_;
  std::vector<Layer> layers_;
  std::vector<GraphCall> calls_;
  std::vector<GraphModelCall> model_calls_;
  std::vector<int> outputs_;
  std::vector<int> order_;  ///< in which `run` makes the calls
  Plan plan_;
  bool placed_ = false;  ///< some layer is
};

}  // namespace lockstep
