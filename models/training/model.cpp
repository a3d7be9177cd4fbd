#include <set>

#include <lockstep/models/serialization/weights_h5.h>
#include <lockstep/models/training/model.h>
#include <lockstep/models/training/model_state.h>

namespace lockstep {

const Model::State::Compiled& Model::State::require_compiled(const char* caller) const {
  require<LogicError>(compiled.has_value(), "{} needs an optimizer and a loss: call compile() first", caller);
  return *compiled;
}

void Model::State::require_own_scope(const char* caller) const {
  require<LogicError>(!has_strategy() || get_strategy() == network.strategy(),
                      "{} was called in the scope of a strategy other than the one the model was made in", caller);
}

Model::Model(const Symbol& input, const Symbol& output, const ModelOptions& options)
    : Model(std::vector{input}, output, options) {}

Model::Model(const std::vector<Symbol>& inputs, const Symbol& output, const ModelOptions& options)
    : Model(inputs, std::vector{output}, options) {}

Model::Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options)
    : state_(std::make_shared<State>(inputs, outputs, options)) {}

Model::Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
             const Model& saved_as)
    : state_(std::make_shared<State>(inputs, outputs, options, saved_as.state_)) {}

Tensor Model::operator()(const Tensor& x, Mode mode) const { return state_->network(x, mode); }

Tensor Model::operator()(const std::vector<Tensor>& xs, Mode mode) const { return state_->network(xs, mode); }

std::vector<Tensor> Model::run(const std::vector<Tensor>& xs, Mode mode) const { return state_->network.run(xs, mode); }

void Model::compile(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics,
                    const std::vector<Metric>& weighted_metrics) {
  State::Compiled compiled{optimizer, loss, {}};
  for (const Metric& metric : metrics) compiled.metrics.push_back({metric, false});
  for (const Metric& metric : weighted_metrics) compiled.metrics.push_back({metric, true});
  std::set<std::string> names{"loss"};
  for (const auto& [metric, weighted] : compiled.metrics)
    require(names.insert(metric.name()).second, "compile() got two values named '{}'", metric.name());
  state_->compiled.emplace(std::move(compiled));
}

const Network& Model::network() const { return state_->network; }

const std::string& Model::name() const { return state_->name; }

const Optimizer& Model::optimizer() const { return state_->require_compiled("optimizer()").optimizer; }

std::vector<Metric> Model::metrics() const {
  std::vector<Metric> metrics;
  for (const CompiledMetric& compiled : state_->require_compiled("metrics()").metrics)
    metrics.push_back(compiled.metric);
  return metrics;
}

void Model::stop_training() { state_->stop = true; }

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
    require(weights[i].defined() && weights[i].shape() == own[i].shape(), "weight '{}' has shape {}, got {}",
            own[i].name(), own[i].shape(), weights[i]);
  for (std::size_t i = 0; i < own.size(); ++i) own[i].assign(weights[i]);
}

void Model::save_weights(const std::string& path) const { lockstep::save_weights(state_->saved_network(), path); }

void Model::load_weights(const std::string& path) { lockstep::load_weights(state_->saved_network(), path); }

}  // namespace lockstep
