#include "lockstep/models/graph/network.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/summary.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/layers/unknown_shape.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/core/batch_rows.h>

namespace lockstep {
namespace {

using Numbers = std::set<std::uint64_t>;  // of symbols' nodes

/// `outputs`, the symbols that they are computed from and, except in `cut` calls, those beside these; oldest first.
/// Includes no symbols that the network's inputs are computed from.
std::vector<Symbol> ancestors(const std::vector<Symbol>& outputs, const Numbers& inputs,
                              const std::set<const ModelCall*>& cut = {}) {
  std::set<std::uint64_t> seen;
  std::vector<Symbol> found;
  const auto add = [&](const std::vector<Symbol>& symbols) {
    for (const Symbol& symbol : symbols)
      if (seen.insert(symbol.node().number).second) found.push_back(symbol);
  };
  add(outputs);
  for (std::size_t next = 0; next < found.size(); ++next) {
    const Symbol symbol = found[next];
    if (inputs.contains(symbol.node().number)) continue;
    add(symbol.node().inputs);
    if (!cut.contains(symbol.node().part_of.get())) add(symbol.node().unread);
  }
  std::ranges::sort(found, {}, [](const Symbol& symbol) { return symbol.node().number; });
  return found;
}

/// The calls of models that a network with these symbols does not contain as a whole: one of their results is missing,
/// another of their symbols is read outside of them, or one of their symbols is an input of the network.
std::set<const ModelCall*> cut_calls(const std::vector<Symbol>& symbols, const std::vector<Symbol>& outputs,
                                     const std::vector<Symbol>& inputs) {
  std::set<std::uint64_t> present;
  for (const Symbol& symbol : symbols) present.insert(symbol.node().number);
  std::set<const ModelCall*> cut;
  const auto check_readers = [&](const std::vector<Symbol>& read, const ModelCall* reader) {
    for (const Symbol& symbol : read) {
      const ModelCall* const call = symbol.node().part_of.get();
      if (call != nullptr && call != reader && !std::ranges::count(call->results, symbol.node().number))
        cut.insert(call);
    }
  };
  check_readers(outputs, nullptr);
  Numbers given;
  std::set<const ModelCall*> around_inputs;
  for (const Symbol& input : inputs) {
    given.insert(input.node().number);
    around_inputs.insert(input.node().part_of.get());
  }
  for (const Symbol& symbol : symbols) {
    if (given.contains(symbol.node().number)) continue;
    const ModelCall* const call = symbol.node().part_of.get();
    if (call != nullptr && around_inputs.contains(call)) cut.insert(call);
    check_readers(symbol.node().inputs, call);
    if (call != nullptr && std::ranges::any_of(call->results, [&](auto result) { return !present.contains(result); }))
      cut.insert(call);
  }
  return cut;
}

/// A text for the comparison of workers, such as "mixed_bfloat16 in 57 of 58 layers".
std::string policies_of(const std::vector<Layer>& layers) {
  const auto mixed = std::ranges::count_if(
      layers, [](const Layer& layer) { return layer.impl().dtype_policy() == DTypePolicy::mixed_bfloat16; });
  return fmt::format("{} in {} of {} layers", name(DTypePolicy::mixed_bfloat16), mixed, layers.size());
}

std::string names_of(const std::vector<NetworkInput>& inputs) {
  std::vector<std::string> names;
  for (const NetworkInput& input : inputs) names.push_back(input.name);
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

/// The shapes of a call's inputs.
struct CallInputs {
  std::vector<Shape> shapes{};
  std::vector<Shape> to_build{};  ///< shapes for which the layer is built
  std::array<std::vector<Shape>, 2> examples{};

  void add(const Shape& shape, const ShapeExamples& of_shape) {
    shapes.push_back(shape);
    to_build.push_back(shape_to_build(shape));
    for (std::size_t i = 0; i < examples.size(); ++i) examples[i].push_back(of_shape[i]);
  }

  /// Throws InvalidArgument for a layer that was built for other inputs, or with weights that depend on unknown sizes.
  void check(const LayerImpl& layer) const {
    const bool known = std::ranges::all_of(shapes, is_known);
    if (!known && unknown_output_shape(layer, shapes)) return;
    try {
      for (const std::vector<Shape>& inputs : examples) layer.output_shape(inputs);
    } catch (const InvalidArgument&) {
      layer.output_shape(to_build);  // throws if it was built for other known sizes
      fail("the weights of layer '{}' depend on a size of its input that is unknown, -1 (None in Keras): give the size",
           layer.name());
    }
  }
};

}  // namespace

Network::Network(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, std::uint64_t seed)
    : strategy_(get_strategy()), input_symbols_(inputs), output_symbols_(outputs) {
  require<LogicError>(!current_context().in_replica(), "a model is made outside the replicas, in the strategy's scope");
  add_inputs(inputs);
  const std::vector<std::string> models = add_calls(inputs, outputs);
  const bool placed = std::ranges::any_of(calls_, [](const GraphCall& call) { return call.device.has_value(); });
  require<LogicError>(!placed || !has_strategy(),
                      "this model has layers placed by with_device: make it outside of the strategy's scope, because a "
                      "strategy places the weights itself");
  name_layers(models);
  build_layers(seed);
  check_stateful();
  order_ = running_order(*this);
  const bool masked = have_masks(layers_, calls_);
  execution_ =
      std::make_shared<PlanExecution>(plan_steps(calls_, order_, layers_, outputs_, masked), layers_, placed, masked);
  if (execution_->masked()) warn_of_dropped_masks();
}

void Network::add_inputs(const std::vector<Symbol>& inputs) {
  require(!inputs.empty(), "a model needs at least one input");
  UniqueNames names;
  for (const Symbol& input : inputs) {
    const Symbol::Node& node = input.node();
    inputs_.push_back({.name = names.make(node.layer == nullptr ? node.name : "keras_tensor"),
                       .shape = input.shape(),
                       .batch_size = node.batch_size});
  }
}

std::vector<std::string> Network::add_calls(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs) {
  require(!outputs.empty(), "a model needs at least one output");
  std::unordered_map<std::uint64_t, int> call_of;  // by the node's number
  std::unordered_map<const LayerImpl*, int> layer_of;
  std::unordered_map<const ModelCall*, int> number_of;
  std::vector<const ModelCall*> called;  // by that number
  std::vector<std::string> models;
  const std::vector<std::uint64_t> given = numbers_of(inputs);
  const Numbers ends(given.begin(), given.end());
  std::vector<Symbol> symbols = ancestors(outputs, ends);
  const std::set<const ModelCall*> cut = cut_calls(symbols, outputs, inputs);
  if (!cut.empty()) symbols = ancestors(outputs, ends, cut);
  std::vector<std::vector<Symbol>> results;  // by layer
  for (std::size_t i = 0; i < inputs.size(); ++i)
    require(call_of.emplace(given[i], -1 - static_cast<int>(i)).second, "the model's input '{}' is given twice",
            inputs_[i].name);
  for (const Symbol& symbol : symbols) {
    const Symbol::Node* const node = &symbol.node();
    if (call_of.contains(node->number)) continue;
    require(node->layer != nullptr,
            "the model's output depends on the input '{}', which is not among the model's inputs {}: add it to them",
            node->name, names_of(inputs_));
    const auto [layer, added] = layer_of.try_emplace(node->layer.get(), static_cast<int>(layers_.size()));
    if (added) {
      layers_.emplace_back(node->layer);
      models.push_back(node->part_of ? node->part_of->model->name : "");
      results.emplace_back();
    }
    if (node->result == 0) results[layer->second].push_back(symbol);
    GraphCall call{.layer = layer->second,
                   .inputs = {},
                   .shape = node->shape,
                   .examples = node->examples,
                   .device = node->device,
                   .mode = node->mode,
                   .use_causal_mask = node->use_causal_mask,
                   .given_masks = node->given_masks,
                   .result = node->result,
                   .remat = node->remat};
    for (const Symbol& from : node->inputs) {
      call.inputs.push_back(call_of.at(from.node().number));
      require(node->result == 0 || call.inputs.back() >= 0,
              "a model whose input is the first result of a layer cannot use the layer's other results, such as one of "
              "shape {}",
              node->shape);
      if (!(from.shape() == node->shape)) call.broadcasts = true;
    }
    if (const ModelCall* const part_of = node->part_of.get(); part_of != nullptr && !cut.contains(part_of)) {
      const auto [number, is_new] = number_of.try_emplace(part_of, static_cast<int>(model_calls_.size()));
      if (is_new) {
        model_calls_.push_back({.model = part_of->model, .mode = part_of->mode});
        called.push_back(part_of);
        for (const std::uint64_t from : part_of->inputs) model_calls_.back().inputs.push_back(call_of.at(from));
      }
      call.model_call = number->second;
    }
    call_of[node->number] = static_cast<int>(calls_.size());
    calls_.push_back(std::move(call));
  }
  for (std::size_t i = 0; i < called.size(); ++i)
    for (const std::uint64_t result : called[i]->results) model_calls_[i].results.push_back(call_of.at(result));
  for (std::size_t i = 0; i < results.size(); ++i) layers_[i] = layers_[i].with_results(results[i]);
  for (const Symbol& output : outputs) outputs_.push_back(call_of.at(output.node().number));
  return models;
}

void Network::name_layers(const std::vector<std::string>& models) {
  UniqueNames names;
  for (const NetworkInput& input : inputs_) names.take(input.name);
  const auto rename = [&](std::size_t i, const std::string& name) {
    if (!names.take(layers_[i].name())) layers_[i] = layers_[i].with_name(names.make(name));
  };
  const auto is_chosen = [&](std::size_t i) {
    return models[i].empty() && !layers_[i].name().empty() && !layers_[i].impl().has_automatic_name();
  };
  for (std::size_t i = 0; i < layers_.size(); ++i)
    require(!is_chosen(i) || names.take(layers_[i].name()), "two layers of the model are named '{}'",
            layers_[i].name());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    if (models[i].empty() && layers_[i].impl().has_automatic_name())
      rename(i, snake_case(layers_[i].impl().class_name()));
  for (std::size_t i = 0; i < layers_.size(); ++i)
    if (!models[i].empty()) rename(i, fmt::format("{}_{}", models[i], layers_[i].name()));
  for (const Layer& layer : layers_)
    if (layer.name().empty()) layer.impl().set_automatic_name(names.make(snake_case(layer.impl().class_name())));
}

std::vector<std::string> Network::output_names() const {
  UniqueNames names;
  std::vector<std::string> result;
  for (const int output : outputs_) {
    if (output < 0) {
      result.push_back(names.make(inputs_[-1 - output].name));
      continue;
    }
    const GraphCall& call = calls_[output];
    result.push_back(
        names.make(call.model_call < 0 ? layers_[call.layer].name() : model_calls_[call.model_call].model->name));
  }
  return result;
}

std::uint32_t Network::first_free_stream(std::uint64_t seed) const {
  std::uint32_t first = 0;
  for (const Layer& layer : layers_) first = std::max(first, layer.impl().first_free_stream(seed));
  return first;
}

void Network::build_layers(std::uint64_t seed) {
  const std::uint32_t first_stream = first_free_stream(seed);
  bool made_variables = false;  // all workers make them together
  for (const GraphCall& call : calls_) {
    if (call.result > 0) continue;
    LayerImpl& layer = layers_[call.layer].impl();
    CallInputs inputs;
    for (const int from : layer_inputs(call.inputs, call.given_masks))
      inputs.add(from < 0 ? inputs_[-1 - from].shape : calls_[from].shape,
                 from < 0 ? examples_of(inputs_[-1 - from].shape) : calls_[from].examples);
    if (!layer.is_built()) {
      std::optional<DeviceScope> there;
      if (call.device) there.emplace(*call.device);
      layer.build(inputs.to_build, {.seed = seed, .stream = first_stream + static_cast<std::uint32_t>(call.layer)});
      made_variables = made_variables || !layer.variables().empty();
    }
    inputs.check(layer);
    for (const Variable& variable : layer.variables())
      require(variable.state().serves_all_replicas() || variable.state().copies().size() == strategy_.devices().size(),
              "layer '{}' was built under another strategy, with {} copies of its weights instead of {}", layer.name(),
              variable.state().copies().size(), strategy_.devices().size());
  }
  for (const Layer& layer : layers_)  // after the calls: building a layer may make it the outer layer of others
    require(!layer.impl().is_inner(),
            "layer '{}' is a sublayer, which only its outer layer can call; make another layer for this call",
            layer.name());
  if (Cluster* const workers = strategy_.state()->cluster(); workers && made_variables)
    workers->agree("the making of a model", "the dtype policy is", policies_of(layers_));
}

void Network::check_stateful() {
  for (const Layer& layer : layers_) {
    if (!is_stateful(layer.impl())) continue;
    stateful_ = true;
    for (const NetworkInput& input : inputs_)
      require(input.batch_size > 0 && input.batch_size == inputs_[0].batch_size,
              "layer '{}' is stateful, which needs the same batch_size in each Input of the model, got {} in '{}'",
              layer.name(), input.batch_size, input.name);
  }
}

void Network::warn_of_dropped_masks() const {
  // The values of masks depend on the batch, but which results have masks does not. A batch without rows shows it.
  std::vector<Tensor> masks;
  for (const GraphCall& call : calls_) {
    const Layer& layer = layers_[call.layer];
    if (call.result > 0) {
      masks.push_back(layer.impl().has_mask(call.result) ? masks[call.inputs[0]] : Tensor());
      continue;
    }
    const auto examples = [&](int from) {
      return with_batch_axis(from < 0 ? examples_of(inputs_[-1 - from].shape)[0] : calls_[from].examples[0], 0);
    };
    std::vector<Tensor> inputs;
    std::vector<Tensor> own;
    for (const int from : layer_inputs(call.inputs, call.given_masks)) {
      const int given = call.given_masks.empty() ? carried_mask : call.given_masks[inputs.size()];
      inputs.push_back(Tensor::zeros(examples(from)));
      if (given >= 0)
        own.push_back(Tensor::zeros(examples(call.inputs[given]), DType::boolean));
      else
        own.push_back(given == no_mask || from < 0 ? Tensor() : masks[from]);
    }
    masks.push_back(mask_of(layer.impl(), inputs, own));
    if (!layer.impl().traits().supports_masking && std::ranges::any_of(own, &Tensor::defined))
      log_warning(
          "layer '{}' ({}) does not support the mask of its input: it computes all time steps, and layers "
          "after it see no mask",
          layer.name(), layer.impl().class_name());
  }
}

Tensor Network::operator()(const std::vector<Tensor>& xs, Mode mode) const {
  require<LogicError>(outputs_.size() == 1, "the model has {} outputs, not one", outputs_.size());
  return run(xs, mode).front();
}

std::vector<Tensor> Network::run(const std::vector<Tensor>& xs, Mode mode, std::vector<Tensor>* masks) const {
  check_call(xs, mode);
  return execution_->run(xs, mode, masks);
}

void Network::check_call(const std::vector<Tensor>& xs, Mode mode) const {
  require(xs.size() == inputs_.size(), "the model takes {} inputs, {}, got {}", inputs_.size(), names_of(inputs_),
          xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Tensor& x = xs[i];
    require(x.defined() && x.rank() >= 1 && fits(x.shape(), with_batch_axis(inputs_[i].shape, xs[0].dim(0))),
            "the model takes batches of {}, got {}", inputs_[i].shape, x);
  }
  if (const std::optional<BatchRows>& batch = current_batch_rows();
      stateful_ && (batch || strategy_.num_replicas_in_sync() == 1)) {
    const std::int64_t rows = batch ? batch->all : xs[0].dim(0);
    require(rows == inputs_[0].batch_size, "the model has stateful layers and takes batches of {} examples, got {}",
            inputs_[0].batch_size, rows);
  }
  const bool trains = mode == Mode::train || std::ranges::any_of(execution_->plan().steps, [](const PlanStep& step) {
                        return step.mode == Mode::train;
                      });
  require<LogicError>(!trains || current_context().in_replica() || strategy_.num_replicas_in_sync() == 1,
                      "a model on {} replicas trains inside strategy.run(), each replica on its own weights",
                      strategy_.num_replicas_in_sync());
}

Layer Network::get_layer(const std::string& name) const {
  const auto found = std::ranges::find(layers_, name, &Layer::name);
  if (found != layers_.end()) return *found;
  std::vector<std::string> names;
  for (const Layer& layer : layers_) names.push_back(layer.name());
  for (const GraphCall& call : calls_)
    require(call.model_call < 0 || model_calls_[call.model_call].model->name != name,
            "'{}' is a model inside this one; its layers are layers of this model, such as '{}'", name,
            layers_[call.layer].name());
  fail("no layer of the model is named '{}'; similar names: {}", name, fmt::join(similar_names(name, names), ", "));
}

Layer Network::get_layer(int index) const {
  const int count = static_cast<int>(layers_.size());
  require(-count <= index && index < count, "the model has no layer {}: it has {} layers, from 0", index, count);
  return layers_[index < 0 ? count + index : index];
}

std::vector<Variable> Network::variables() const {
  std::vector<Variable> result;
  for (const Layer& layer : layers_) {
    const std::vector<Variable>& own = layer.impl().variables();
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

std::vector<std::string> Network::weight_names() const {
  UniqueNames names;
  std::vector<std::string> result;
  for (const Layer& layer : layers_)
    for (const Variable& variable : layer.impl().variables()) result.push_back(names.make(layer.weight_name(variable)));
  return result;
}

std::vector<Variable> Network::trainable_variables() const {
  std::vector<Variable> result = variables();
  std::erase_if(result, [](const Variable& variable) { return !variable.trainable(); });
  return result;
}

std::int64_t Network::count_params() const {
  std::int64_t count = 0;
  for (const Layer& layer : layers_) count += layer.impl().count_params();
  return count;
}

Tensor Network::regularization_loss() const {
  Tensor total;
  for (const Layer& layer : layers_) {
    const Tensor penalty = layer.impl().regularization_loss();
    if (penalty.defined()) total = total.defined() ? add(total, penalty) : penalty;
  }
  return total;
}

std::string Network::summary(const std::string& name) const {
  return summary_table({.name = name, .inputs = inputs_}, calls_, layers_);
}

}  // namespace lockstep
