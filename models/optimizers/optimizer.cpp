#include <algorithm>
#include <cmath>
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

  /// Makes what steps on these variables need, at the first one. `by_rows(i)`: what is known here of the i-th gradient.
  template <class ByRows>
  void prepare(const ReplicaContext& context, const std::vector<Variable>& variables, const ByRows& by_rows);
  void load(const ReplicaContext& context, GradientTape& tape, const Tensor& loss);
  void load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients);
  void step(const ReplicaContext& context);

 private:
  /// The variables that lie on the same devices: on one set under a strategy, on several in a model that is spread over
  /// devices by with_device. Their arena, and the optimizer's state for them, lie there too.
  struct Group {
    std::vector<LogicalDevice> devices{};
    std::vector<std::size_t> members{};  ///< numbers of variables
    std::unique_ptr<GradientReducer> reducer{};
  };

  /// What a replica came with, as a whole: a vector would be regrouped.
  struct Order {
    std::vector<Variable> variables;
    std::vector<bool> by_rows;
  };

  void build(const ReplicaContext& context, const std::vector<Variable>& variables, const std::vector<bool>& by_rows);

  std::unique_ptr<const Rule> rule_;
  double learning_rate_ = 0;
  // Written when all replicas meet for the first step.
  std::vector<Variable> variables_;
  std::vector<Group> groups_;
  std::shared_ptr<StrategyState> strategy_;  ///< null outside every strategy
  std::vector<std::int64_t> iterations_;  ///< by replica, so that each counts without the others; equal between steps
};

template <class ByRows>
void Optimizer::State::prepare(const ReplicaContext& context, const std::vector<Variable>& variables,
                               const ByRows& by_rows) {
  if (groups_.empty()) {
    Order own{variables, {}};
    for (std::size_t i = 0; i < variables.size(); ++i) own.by_rows.push_back(by_rows(i));
    const auto first_step = [&](const Strategy&, const PerReplica<Order>& orders) {
      verify_same_order(orders.transform([](const Order& order) { return &order.variables; }).local_results());
      // What some replica looks up rows of is exchanged as rows; where another one's gradient turns out to be dense,
      // the reducer sees to that.
      std::vector<bool> rows(variables.size());
      for (const Order& order : orders.local_results())
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = rows[i] || order.by_rows[i];
      build(context, variables, rows);
      iterations_.assign(static_cast<std::size_t>(context.num_replicas_in_sync()), 0);
      strategy_ = has_strategy() ? context.strategy().state() : nullptr;
    };
    context.merge_at("the optimizer's first step", first_step, std::tuple(own));
  }
  const auto strategy = has_strategy() ? context.strategy().state() : nullptr;
  require<LogicError>(strategy == strategy_, "this optimizer has been used under another strategy; make one for each");
  require(variables == variables_,
          "an optimizer belongs to the {} variables of its first step, in their order; make another one for these {}",
          variables_.size(), variables.size());
}

void Optimizer::State::build(const ReplicaContext& context, const std::vector<Variable>& variables,
                             const std::vector<bool>& by_rows) {
  require(!variables.empty(), "there are no trainable variables to optimize");
  std::vector<Group> groups;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    // Only outside of strategies are variables where they were placed.
    std::vector<LogicalDevice> devices = context.strategy().devices();
    const std::vector<Tensor>& copies = variables[i].state().copies();
    if (!has_strategy() && copies.size() == 1) devices = {copies.front().device()};
    auto group = std::ranges::find(groups, devices, &Group::devices);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{.devices = std::move(devices)});
    group->members.push_back(i);
  }
  for (Group& group : groups) {
    std::vector<Variable> members;
    RowOptions rows{.by_rows = {}, .every_row = rule_->moves_without_gradient()};
    for (const std::size_t member : group.members) {
      members.push_back(variables[member]);
      rows.by_rows.push_back(by_rows[member]);
    }
    group.reducer = std::make_unique<GradientReducer>(std::move(members), rule_->state_slots(), group.devices, rows);
  }
  variables_ = variables;
  groups_ = std::move(groups);
}

void Optimizer::State::load(const ReplicaContext& context, GradientTape& tape, const Tensor& loss) {
  if (groups_.size() == 1) return groups_.front().reducer->backward(context, tape, loss);
  std::vector<Tensor> sources;
  for (const Variable& variable : variables_) sources.push_back(variable.value());
  load(context, tape.gradient_or_slices(loss, sources));
}

void Optimizer::State::load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients) {
  if (groups_.size() == 1) return groups_.front().reducer->load(context, gradients);
  require(gradients.size() == variables_.size(), "{} gradients were given for {} variables", gradients.size(),
          variables_.size());
  const bool any = std::ranges::any_of(gradients, is_defined);
  for (const Group& group : groups_) {
    std::vector<DenseOrSparse> members;
    for (const std::size_t member : group.members) members.push_back(gradients[member]);
    // What one device holds need not have been used, as long as something has.
    if (any && std::ranges::none_of(members, is_defined))
      members.front() = Tensor::zeros(variables_[group.members.front()].shape());
    group.reducer->load(context, members);
  }
}

void Optimizer::State::step(const ReplicaContext& context) {
  std::int64_t& done = iterations_[static_cast<std::size_t>(context.replica_id_in_sync_group())];
  for (const Group& group : groups_) group.reducer->apply(context, rule_->step(learning_rate_, done + 1));
  ++done;
}

Optimizer::Optimizer(double learning_rate, std::unique_ptr<const Rule> rule)
    : state_(std::make_shared<State>(learning_rate, std::move(rule))) {}

void Optimizer::minimize(GradientTape& tape, const Tensor& loss, const std::vector<Variable>& variables) const {
  const ReplicaContext context = get_replica_context();
  state_->prepare(context, variables, [&](std::size_t i) { return tape.only_rows_read(variables[i].value()); });
  {
    const PhaseTimer timer(Phase::compute);
    state_->load(context, tape, loss);
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
  const auto by_rows = [&](std::size_t i) {
    return i < gradients.size() && std::holds_alternative<IndexedSlices>(gradients[i]);
  };
  state_->prepare(context, variables, by_rows);
  {
    const PhaseTimer timer(Phase::compute);
    state_->load(context, gradients);
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
