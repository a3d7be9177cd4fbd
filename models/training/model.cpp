#include "lockstep/models/training/model.h"

#include <algorithm>
#include <utility>

#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/inner_model.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep {

Model::State::State(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
                    const std::string& class_name, std::shared_ptr<const State> saved)
    : network(inputs, outputs, options.seed),
      name(options.name),
      nested(std::make_shared<const NestedModel>(keras_model(network, name, class_name))),
      saved_as(std::move(saved)) {}

const Model::State::Compiled& Model::State::require_compiled(const char* caller) const {
  require<LogicError>(compiled.has_value(), "{} needs an optimizer and a loss: call compile() first", caller);
  return *compiled;
}

const Model::State::Compiled& Model::State::require_evaluation(const char* caller) const {
  const Compiled& now = require_compiled(caller);
  require<LogicError>(now.steps.test_step || !now.outputs.empty(),
                      "{} needs a test_step or the outputs' losses and metrics: give them to compile(), too", caller);
  return now;
}

void Model::State::require_trainable_as_in(const Compiled& then, const char* caller) const {
  if (network.trainable_variables() == then.trainable) return;
  for (const Variable& variable : network.variables()) {
    const bool was_trainable = std::ranges::count(then.trainable, variable) > 0;
    require<LogicError>(variable.trainable() == was_trainable,
                        "{}: '{}' is {} now, but was not when the model was compiled: after set_trainable(), call "
                        "compile() again, with a new optimizer",
                        caller, variable.name(), was_trainable ? "frozen" : "trainable");
  }
}

void Model::State::require_own_scope(const char* caller) const {
  require<LogicError>(!current_context().in_replica(), "{} was called inside a replica; call it outside run()", caller);
  require<LogicError>(!has_strategy() || get_strategy() == network.strategy(),
                      "{} was called in the scope of a strategy other than the one the model was made in", caller);
}

Model::Model(const Symbol& input, const Symbol& output, const ModelOptions& options)
    : Model(std::vector{input}, output, options) {}

Model::Model(const std::vector<Symbol>& inputs, const Symbol& output, const ModelOptions& options)
    : Model(inputs, std::vector{output}, options) {}

Model::Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options)
    : Model(inputs, outputs, options, "Functional") {}

Model::Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
             const std::string& class_name)
    : state_(std::make_shared<State>(inputs, outputs, options, class_name)) {}

Model::Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
             const Model& saved_as)
    : state_(std::make_shared<State>(inputs, outputs, options, "Functional", saved_as.state_.shared())) {}

Tensor Model::operator()(const Tensor& x, Mode mode) const { return state_->network(x, mode); }

Tensor Model::operator()(const std::vector<Tensor>& xs, Mode mode) const { return state_->network(xs, mode); }

std::vector<Tensor> Model::run(const std::vector<Tensor>& xs, Mode mode) const { return state_->network.run(xs, mode); }

Symbol Model::operator()(const Symbol& x) const { return (*this)(std::vector{x}); }

Symbol Model::operator()(const std::vector<Symbol>& xs) const {
  const std::vector<Symbol> outputs = run(xs);
  require<LogicError>(outputs.size() == 1, "'{}' has {} outputs: use run()", name(), outputs.size());
  return outputs.front();
}

TimeDistributed::TimeDistributed(const Model& model, std::string name)
    : TimeDistributed(Layer(inner_model(model.network(), *model.state_->nested)), std::move(name)) {}

std::vector<Symbol> Model::run(const std::vector<Symbol>& xs) const { return network().connect(xs, state_->nested); }

void Model::compile(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics,
                    const std::vector<Metric>& weighted_metrics) {
  const OutputTraining each{.loss = loss, .metrics = metrics, .weighted_metrics = weighted_metrics};
  compile(optimizer, std::vector(network().outputs().size(), each));
}

void Model::compile(const Optimizer& optimizer, const std::vector<OutputTraining>& outputs, const CustomSteps& steps) {
  std::vector<OutputTraining> given = outputs;
  if (given.empty() && !steps.train_step) given.resize(network().outputs().size());
  std::vector<CompiledOutput> compiled;
  if (!given.empty()) compiled = compile_outputs(network(), given);
  state_->compiled.emplace(State::Compiled{optimizer, steps, given, std::move(compiled), trainable_variables()});
}

const Network& Model::network() const { return state_->network; }

const std::string& Model::name() const { return state_->name; }

const Optimizer& Model::optimizer() const { return state_->require_compiled("optimizer()").optimizer; }

const std::vector<OutputTraining>& Model::compiled_outputs() const {
  return state_->require_compiled("compiled_outputs()").given;
}

const CustomSteps& Model::compiled_steps() const { return state_->require_compiled("compiled_steps()").steps; }

std::vector<Metric> Model::metrics() const {
  std::vector<Metric> metrics;
  for (const CompiledOutput& output : state_->require_compiled("metrics()").outputs)
    for (const CompiledMetric& compiled : output.metrics) metrics.push_back(compiled.metric);
  return metrics;
}

void Model::stop_training() {
  StopRequest none = StopRequest::none;
  state_->stop.compare_exchange_strong(none, StopRequest::after_validation);
}

void Model::interrupt_training() { state_->stop = StopRequest::at_once; }

void Model::set_trainable(bool trainable) {
  for (const Layer& layer : network().layers()) layer.impl().set_trainable(trainable);
}

void Model::reset_states() {
  for (const Layer& layer : network().layers()) lockstep::reset_states(layer.impl());
}

std::vector<Tensor> Model::get_weights() const {
  std::vector<Tensor> weights;
  for (const Variable& variable : variables()) {
    weights.push_back(Tensor::empty(variable.shape(), variable.dtype()));
    copy(variable.value(), weights.back());
  }
  return weights;
}

void Model::set_weights(const std::vector<Tensor>& weights) const {
  const std::vector<Variable> own = variables();
  require(weights.size() == own.size(), "'{}' has {} weights, got {}", name(), own.size(), weights.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    require(weights[i].defined() && weights[i].shape() == own[i].shape() && weights[i].dtype() == own[i].dtype(),
            "weight '{}' has shape {} of {}, got {}", own[i].name(), own[i].shape(), lockstep::name(own[i].dtype()),
            weights[i]);
  for (std::size_t i = 0; i < own.size(); ++i) own[i].assign(weights[i]);
}

void Model::save_weights(const std::string& path) const { lockstep::save_weights(state_->saved_network(), path); }

void Model::load_weights(const std::string& path, const LoadWeightsOptions& options) {
  lockstep::load_weights(state_->saved_network(), path, options);
}

}  // namespace lockstep
