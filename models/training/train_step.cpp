#include "lockstep/models/training/train_step.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>

namespace lockstep {
namespace {

const Model::State& checked(const Model::State& state, const char* caller) {
  state.require_own_scope(caller);
  state.require_trainable_as_in(state.require_compiled(caller), caller);
  return state;
}

}  // namespace

TrainStep::TrainStep(const Model& model, const Model::State& state, const ClassWeight& class_weight, const char* caller)
    : model_(model),
      state_(checked(state, caller)),
      compiled_(state.require_compiled(caller)),
      class_weight_(class_weight),
      caller_(caller),
      compute_(state.network, compiled_.outputs, compiled_.optimizer, compiled_.trainable) {
  const std::size_t outputs = state.network.outputs().size();
  require(class_weight.empty() || outputs == 1,
          "class weights are for models of one output, this one has {}: use sample weights", outputs);
}

void TrainStep::use_graphs() {
  const Strategy& strategy = state_.network.strategy();
  for (const LogicalDevice& device : strategy.devices())
    require(device.kind == DeviceKind::gpu, "cuda_graphs needs replicas on GPUs, one is on {}", device.name());
  require(!strategy.state()->cluster(), "cuda_graphs does not work with several workers");
  if (compiled_.steps.train_step)
    return log_warning("CUDA graphs are not used: the model has a train_step of the program's own");
  if (const std::string why = why_not_captured(compute_, strategy.devices()); !why.empty())
    return log_warning("CUDA graphs are not used: {}", why);
  for (const LogicalDevice& device : strategy.devices())
    graphs_.push_back(std::make_unique<StepGraphs>(compute_, device, warned_of_graphs_));
}

void TrainStep::prepare_optimizer() const {
  state_.require_trainable_as_in(compiled_, caller_);  // callbacks can freeze and thaw layers
  if (Cluster* const workers = state_.network.strategy().state()->cluster()) {
    std::vector<std::string> names;
    for (const Variable& variable : compiled_.trainable) names.push_back(variable.name());
    workers->agree("the start of training", "the model trains", fmt::format("{}", fmt::join(names, ", ")));
  }
  const auto looks_up_rows = [](const Layer& layer) { return layer.impl().traits().looks_up_rows; };
  if (compiled_.steps.train_step) return;  // it decides which variables the optimizer trains
  if (std::ranges::any_of(state_.network.layers(), looks_up_rows)) return;  // the first step finds the sparse gradients
  state_.network.strategy().run([&] { compiled_.optimizer.build(compiled_.trainable); });
}

StepResults TrainStep::run(const DistributedBatch& batch, bool is_first) {
  state_.require_trainable_as_in(compiled_, caller_);  // callbacks can freeze and thaw layers
  const PerReplica<StepResults> replicas = state_.network.strategy().run(
      [&](const Batch& local) { return on_replica(local, batch.global_size(), is_first); }, batch);
  StepResults results{.split_ms = replicas[0].split_ms, .submitted = replicas[0].submitted};
  for (const StepResults& replica : replicas.local_results()) {
    results.totals += replica.totals;
    results.rows.push_back(replica.totals.examples);
  }
  add_other_workers(results);
  return results;
}

StepResults TrainStep::on_replica(const Batch& part, std::int64_t global_size, bool is_first) {
  StepClock::take();
  const Batch local = with_class_weight(part, class_weight_);
  StepResults results =
      compiled_.steps.train_step ? custom_step(local, global_size) : compiled_step(local, global_size, is_first);
  results.split_ms = StepClock::take();
  return results;
}

StepResults TrainStep::custom_step(const Batch& local, std::int64_t global_size) const {
  const PhaseTimer timer(Phase::compute);
  const StepValues values = compiled_.steps.train_step(model_, local, global_size);
  StepResults results{.submitted = std::chrono::steady_clock::now()};
  results.totals = custom_totals(values, local.size());
  return results;
}

StepResults TrainStep::compiled_step(const Batch& local, std::int64_t global_size, bool is_first) {
  const int replica = std::max(0, current_context().replica);
  const Forward forward = graphs_.empty() ? compute_.run(local, global_size)
                                          : graphs_[static_cast<std::size_t>(replica)]->run(local, global_size);
  StepResults results{.submitted = std::chrono::steady_clock::now()};
  // Last, so that a GPU has all of the step's work before the host waits for it.
  const PhaseTimer timer(Phase::compute);
  results.totals = batch_totals(compiled_.outputs, local, forward.predictions, forward.losses);
  if (is_first && replica == 0 && state_.network.strategy().is_chief())
    warn_of_wrong_from_logits(compiled_.outputs, forward.predictions.y_preds);
  if (forward.penalty.defined()) results.totals.add_to_every_loss(forward.penalty);
  return results;
}

void TrainStep::add_other_workers(StepResults& results) const {
  Cluster* const workers = state_.network.strategy().state()->cluster();
  if (!workers) return;
  std::vector<double> own(results.rows.begin(), results.rows.end());
  const std::vector<double> numbers = results.totals.numbers();
  own.insert(own.end(), numbers.begin(), numbers.end());
  const std::size_t replicas = results.rows.size();
  const auto names = std::exchange(results.totals, {}).names;
  results.rows.clear();
  for (const std::vector<double>& all : gather_numbers(*workers, "the end of a training step", own)) {
    for (std::size_t replica = 0; replica < replicas; ++replica)
      results.rows.push_back(static_cast<std::int64_t>(all.at(replica)));
    results.totals += Totals::from_numbers(std::span(all).subspan(replicas), names);
  }
}

}  // namespace lockstep
