#include "lockstep/models/optimizers/optimizer.h"

#include <string_view>

#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/state.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/trace/step_clock.h>

namespace lockstep {
namespace {

void check_outside_replicas(std::string_view what) {
  require<LogicError>(!current_context().in_replica(), "{} inside a replica; do it outside run(), for all of them",
                      what);
}

/// Adds the step to errors that `load` throws.
template <class Load>
void in_step(std::int64_t step, const Load& load) {
  try {
    load();
  } catch (NumericError& error) {
    error.add_context(fmt::format("step {}", step));
    throw;
  }
}

}  // namespace

Optimizer::Optimizer(const LearningRate& learning_rate, std::unique_ptr<const Rule> rule,
                     const OptimizerOptions& options)
    : state_(std::make_shared<State>(learning_rate, std::move(rule), options)) {}

void Optimizer::build(const std::vector<Variable>& variables) const {
  state_->prepare(get_replica_context(), variables, [](std::size_t) { return false; });
}

void Optimizer::minimize(GradientTape& tape, const Tensor& loss, const std::vector<Variable>& variables) const {
  const ReplicaContext context = get_replica_context();
  state_->prepare(context, variables, [&](std::size_t i) { return tape.only_rows_read(variables[i].value()); });
  {
    const PhaseTimer timer(Phase::compute);
    in_step(state_->steps(context.local_replica()), [&] { state_->load(context, tape, loss); });
  }
  state_->step(context);
}

CapturedGradients Optimizer::capture_gradients(GpuCapture& capture, GradientTape& tape, const Tensor& loss,
                                               const std::vector<Variable>& variables) const {
  const ReplicaContext context = get_replica_context();
  state_->prepare(context, variables, [](std::size_t) { return false; });
  return state_->capture(context, capture, tape, loss);
}

void Optimizer::minimize(const CapturedGradients& gradients, const std::vector<Variable>& variables) const {
  const ReplicaContext context = get_replica_context();
  state_->prepare(context, variables, [](std::size_t) { return false; });
  {
    const PhaseTimer timer(Phase::compute);
    state_->load(context, gradients);
  }
  state_->step(context);
}

void Optimizer::apply_gradients(std::span<const Tensor> gradients, const std::vector<Variable>& variables) const {
  const std::vector<DenseOrSparse> dense(gradients.begin(), gradients.end());
  apply_gradients(dense, variables);
}

void Optimizer::apply_gradients(std::span<const DenseOrSparse> gradients,
                                const std::vector<Variable>& variables) const {
  const ReplicaContext context = get_replica_context();
  state_->prepare(context, variables, [&](std::size_t i) {
    return i < gradients.size() && std::holds_alternative<IndexedSlices>(gradients[i]);
  });
  {
    const PhaseTimer timer(Phase::compute);
    in_step(state_->steps(context.local_replica()), [&] { state_->load(context, gradients); });
  }
  state_->step(context);
}

double Optimizer::learning_rate() const { return state_->learning_rate(); }

void Optimizer::set_learning_rate(double rate) const {
  check_outside_replicas("the learning rate was set");
  state_->set_learning_rate(rate);
}

void Optimizer::check_numerics(bool on) const {
  check_outside_replicas("the check of gradients was switched");
  state_->check_numerics(on);
}

std::int64_t Optimizer::iterations() const {
  const ExecutionContext& context = current_context();
  return state_->iterations(context.in_replica() ? context.replica : 0);
}

OptimizerConfig Optimizer::config() const { return state_->config(); }

void Optimizer::finalize_variable_values() const {
  check_outside_replicas("variables were given their averages");
  state_->finalize_variable_values();
}

OptimizerState Optimizer::state() const {
  check_outside_replicas("an optimizer's state was asked for");
  return state_->save();
}

void Optimizer::load_state(const OptimizerState& state) const {
  check_outside_replicas("an optimizer's state was loaded");
  state_->restore(state);
}

}  // namespace lockstep
