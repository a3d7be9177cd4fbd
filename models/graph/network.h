#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/models/graph/plan.h>
#include <lockstep/models/graph/plan_execution.h>
#include <lockstep/models/graph/symbol.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Layers that connect one or several inputs to one or several outputs, and their execution plan. As in Keras, an input
/// may be unused, and it may itself be an output. The constructor gives layers without a name Keras' default names
/// (conv2d, conv2d_1, ...), and builds new layers in the open strategy's scope. If the network contains layers of
/// several other networks, their automatic names are made unique again. Equal networks with equal seeds have equal
/// initial weights. The random numbers of a new layer are independent of the random numbers of layers that the network
/// shares with other networks. Networks with equal seeds and no shared layers draw the same numbers. Layers run in the
/// order in which they were called on symbols, or in Keras' order if a layer with statistics is called several times
/// (running_order).
///
/// A network that is called on symbols becomes part of another network. As in Keras, this includes its layers whose
/// results are not used.
///
/// A network whose inputs, outputs or both are intermediate results of another network (Layer::output) shares layers
/// and weights with that network. An input that is a layer's result is named "keras_tensor". If the network contains
/// only part of a model inside the other network, the layers of that model become direct layers of the new network.
///
/// Each layer computes in the dtype of its policy (DTypePolicy). Inputs are cast once for all layers that read them in
/// the same dtype; integers, such as ids, are not cast.
///
/// Models made outside strategies' scopes can use model parallelism. A layer called on symbols in a DeviceScope runs on
/// the scope's device and, if that is its first call, keeps its weights there; other layers run on the device of the
/// thread that runs the network. Inputs on another device are copied once for all layers that read them there. A
/// network called in a DeviceScope runs as a whole on that device.
class Network {
 public:
  /// Throws InvalidArgument
  /// - without inputs or without outputs;
  /// - for an input that is given twice;
  /// - for an output that depends on an Input that is not given;
  /// - if an input is the first result of a layer and an output depends on another result of this layer;
  /// - for two layers of the same name;
  /// - for a layer that belongs to another layer, was built for other shapes or another strategy, or has weights that
  ///   depend on an unknown size;
  /// - for a stateful layer, unless all inputs have the same batch size above 0.
  ///
  /// Throws LogicError inside a replica, and if a strategy's scope is open and a DeviceScope has placed a layer.
  Network(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, std::uint64_t seed);
  ///@{
  /// A network with one output.
  Network(const std::vector<Symbol>& inputs, const Symbol& output, std::uint64_t seed)
      : Network(inputs, std::vector{output}, seed) {}
  Network(const Symbol& input, const Symbol& output, std::uint64_t seed) : Network(std::vector{input}, output, seed) {}
  ///@}

  /// Computes (n, output shape) for each output from (n, input shape) for each input, with the calling replica's copy
  /// of the weights. If `masks` is not null, the mask of each output (LayerCall::masks) is appended to it, undefined
  /// for an output without a mask. Throws InvalidArgument for a wrong number or shape of inputs and, with stateful
  /// layers, if the global batch does not have the inputs' batch_size. If `mode` or a call's own mode is Mode::train
  /// and the strategy has several replicas, throws LogicError outside replicas.
  std::vector<Tensor> run(const std::vector<Tensor>& xs, Mode mode, std::vector<Tensor>* masks = nullptr) const;
  /// Same as run(), for a network with one output. Throws LogicError if it has several.
  Tensor operator()(const std::vector<Tensor>& xs, Mode mode) const;
  /// Same as run(), for a network with one input and one output.
  Tensor operator()(const Tensor& x, Mode mode) const { return (*this)(std::vector{x}, mode); }

  /// Makes this network part of another one: calls its layers, with their weights, on the other network's symbols, and
  /// returns the symbols of its outputs. If a layer's name is already taken in the other network, the layer is called
  /// MODEL_LAYER there, MODEL being `model`'s name; in this network it keeps its name. `model` describes this network;
  /// pass the same object in all calls. Throws InvalidArgument for a wrong number or shape of inputs.
  std::vector<Symbol> connect(const std::vector<Symbol>& inputs, const std::shared_ptr<const NestedModel>& model) const;

  ///@{
  /// The symbols given to the constructor.
  const std::vector<Symbol>& input_symbols() const { return input_symbols_; }
  const std::vector<Symbol>& output_symbols() const { return output_symbols_; }
  ///@}
  ///@{
  /// The layer of this name or at this index of layers(); a negative index counts from the end. Throws InvalidArgument
  /// if there is none; the message has similar names or the number of layers.
  Layer get_layer(const std::string& name) const;
  Layer get_layer(int index) const;
  ///@}

  /// The inputs in the order in which `run` takes them.
  const std::vector<NetworkInput>& inputs() const { return inputs_; }
  /// Shape of the first input, without the batch axis.
  const Shape& input_shape() const { return inputs_.front().shape; }
  /// Shape of the first output, without the batch axis.
  const Shape& output_shape() const {
    const int first = outputs_.front();
    return first < 0 ? inputs_[static_cast<std::size_t>(-1 - first)].shape
                     : calls_[static_cast<std::size_t>(first)].shape;
  }
  /// For each output, the index in calls() of the call that computes it; -1 - i if it is input i.
  const std::vector<int>& outputs() const { return outputs_; }
  /// For each output, the name of the input or the layer that it comes from; if this layer belongs to a model that is
  /// part of this network, the name of that model. Repeated names get "_1", "_2", ... appended, as in Keras 2.
  std::vector<std::string> output_names() const;
  /// The layers, each once, in the order of their first calls.
  const std::vector<Layer>& layers() const { return layers_; }
  /// All calls of layers, in the order in which they were made.
  const std::vector<GraphCall>& calls() const { return calls_; }
  /// All calls of models that are part of this network, without the calls inside those models.
  const std::vector<GraphModelCall>& model_calls() const { return model_calls_; }
  ///@{
  /// The variables of all layers, in the layers' order, and the trainable ones among them.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  ///@}
  /// For each variable, its unique name in files of weights, such as "layer/kernel". It contains the layer's name in
  /// this network; if connect() renamed the layer, Variable::name contains the layer's original name.
  std::vector<std::string> weight_names() const;
  /// Number of elements of all variables.
  std::int64_t count_params() const;
  /// The sum of the trainable layers' regularization losses, each layer counted once; undefined if there are none.
  Tensor regularization_loss() const;
  /// Keras' summary under the title `name`: a table with each layer's name and class, output shape, number of
  /// parameters and connections, and the totals.
  std::string summary(const std::string& name) const;
  /// One more than the largest LayerSeed::stream that a layer uses with this seed; 0 if no layer uses the seed.
  std::uint32_t first_free_stream(std::uint64_t seed) const;
  /// The strategy in whose scope the network was made.
  const Strategy& strategy() const { return strategy_; }

 private:
  void add_inputs(const std::vector<Symbol>& inputs);
  /// Fills layers_, calls_, model_calls_ and outputs_. Returns, for each layer, the name of the nested model that it
  /// belongs to, or an empty string.
  std::vector<std::string> add_calls(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs);
  void name_layers(const std::vector<std::string>& models);
  void build_layers(std::uint64_t seed);
  /// Sets stateful_. Throws InvalidArgument for stateful layers unless all inputs have the same batch size above 0.
  void check_stateful();
  /// Warns about layers that do not support the masks of their inputs.
  void warn_of_dropped_masks() const;
  void check_call(const std::vector<Tensor>& xs, Mode mode) const;

  Strategy strategy_;
  std::vector<NetworkInput> inputs_;
  std::vector<Layer> layers_;
  std::vector<GraphCall> calls_;
  std::vector<GraphModelCall> model_calls_;
  std::vector<int> outputs_;
  std::vector<int> order_;  ///< execution order: indices into calls_
  std::shared_ptr<const PlanExecution> execution_;
  bool stateful_ = false;  ///< whether any layer is stateful
  std::vector<Symbol> input_symbols_;
  std::vector<Symbol> output_symbols_;
};

}  // namespace lockstep
