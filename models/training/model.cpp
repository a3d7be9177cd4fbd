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

void Model::compile(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics) {
  std::set<std::string> names{"loss"};
  for (const Metric& metric : metrics)
    require(names.insert(metric.name()).second, "compile() got two values named '{}'", metric.name());
  state_->compiled.emplace(State::Compiled{optimizer, loss, metrics});
}

const Network& Model::network() const { return state_->network; }

const std::string& Model::name() const { return state_->name; }

const Optimizer& Model::optimizer() const { return state_->require_compiled("optimizer()").optimizer; }

void Model::stop_training() { state_->stop = true; }

void Model::save_weights(const std::string& path) const { lockstep::save_weights(state_->saved_network(), path); }

void Model::load_weights(const std::string& path) { lockstep::load_weights(state_->saved_network(), path); }

}  // namespace lockstep
