#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/optimizers/rule.h>
#include <lockstep/runtime/thread/context.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/verify/verify.h>

namespace lockstep {

class Optimizer::State {
 public:
  State(double learning_rate, std::unique_ptr<const Rule> rule) : rule_(std::move(rule)) {
    set_learning_rate(learning_rate);
  }

  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) {
    require(std::isfinite(rate) && rate >= 0, "a learning rate must be finite and not negative, got {}", rate);
    learning_rate_ = rate;
  }
  std::int64_t iterations(int replica) const { return iterations_.empty() ? 0 : iterations_.at(replica); }

  /// The reducer for these variables, made at the first step.
  GradientReducer& reducer_for(const ReplicaContext& context, const std::vector<Variable>& variables);
  void step(const ReplicaContext& context);

 private:
  void build(const ReplicaContext& context, const std::vector<Variable>& variables);
  void verify_order(int replicas) const;

  std::unique_ptr<const Rule> rule_;
  double learning_rate_ = 0;
  std::mutex first_step_mutex_;
  std::map<int, std::vector<Variable>> first_step_;  ///< what each replica came with
  // Written by replica 0 between two meetings of all, so that every replica finds the same.
  std::unique_ptr<GradientReducer> reducer_;
  std::shared_ptr<StrategyState> strategy_;  ///< null outside every strategy
  std::vector<std::int64_t> iterations_;  ///< by replica, so that each counts without the others; equal between steps
};

GradientReducer& Optimizer::State::reducer_for(const ReplicaContext& context, const std::vector<Variable>& variables) {
  if (!reducer_) {
    {
      const std::lock_guard lock(first_step_mutex_);
      first_step_[context.replica_id_in_sync_group()] = variables;
    }
    context.meet("the start of the optimizer's first step");
    verify_order(context.num_replicas_in_sync());
    if (context.replica_id_in_sync_group() == 0) build(context, variables);
    context.meet("the building of the optimizer");
  }
  const auto strategy = has_strategy() ? context.strategy().state() : nullptr;
  require<LogicError>(strategy == strategy_, "this optimizer has been used under another strategy; make one for each");
  require(variables == reducer_->arena().variables(),
          "an optimizer belongs to the {} variables of its first step, in their order; make another one for these {}",
          reducer_->arena().variables().size(), variables.size());
  return *reducer_;
}

void Optimizer::State::verify_order(int replicas) const {
  std::vector<const std::vector<Variable>*> by_replica;
  for (int replica = 0; replica < replicas; ++replica) by_replica.push_back(&first_step_.at(replica));
  verify_same_order(by_replica);
}

void Optimizer::State::build(const ReplicaContext& context, const std::vector<Variable>& variables) {
  const std::vector<LogicalDevice>& devices = context.strategy().devices();
  auto reducer = std::make_unique<GradientReducer>(variables, rule_->state_slots(), devices);
  iterations_.assign(devices.size(), 0);
  strategy_ = has_strategy() ? context.strategy().state() : nullptr;
  reducer_ = std::move(reducer);
}

void Optimizer::State::step(const ReplicaContext& context) {
  std::int64_t& done = iterations_[static_cast<std::size_t>(context.replica_id_in_sync_group())];
  reducer_->apply(context, rule_->step(learning_rate_, done + 1));
  ++done;
}

Optimizer::Optimizer(double learning_rate, std::unique_ptr<const Rule> rule)
    : state_(std::make_shared<State>(learning_rate, std::move(rule))) {}

void Optimizer::minimize(GradientTape& tape, const Tensor& loss, const std::vector<Variable>& variables) const {
  const ReplicaContext context = get_replica_context();
  GradientReducer& reducer = state_->reducer_for(context, variables);
  {
    const PhaseTimer timer(Phase::compute);
    reducer.backward(context, tape, loss);
  }
  state_->step(context);
}

void Optimizer::apply_gradients(std::span<const Tensor> gradients, const std::vector<Variable>& variables) const {
  const ReplicaContext context = get_replica_context();
  GradientReducer& reducer = state_->reducer_for(context, variables);
  {
    const PhaseTimer timer(Phase::compute);
    reducer.load(context, gradients);
  }
  state_->step(context);
}

double Optimizer::learning_rate() const { return state_->learning_rate(); }

void Optimizer::set_learning_rate(double rate) const {
  require<LogicError>(!current_context().in_replica(),
                      "the learning rate was set inside a replica; set it outside run(), for all of them");
  state_->set_learning_rate(rate);
}

std::int64_t Optimizer::iterations() const {
  const ExecutionContext& context = current_context();
  return state_->iterations(context.in_replica() ? context.replica : 0);
}

}  // namespace lockstep
