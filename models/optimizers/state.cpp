#include "lockstep/models/optimizers/state.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep {
namespace {

void check_rate(double rate) {
  require(std::isfinite(rate) && rate >= 0, "a learning rate must be finite and not negative, got {}", rate);
}

void check_options(const OptimizerOptions& options) {
  require(std::isfinite(options.weight_decay) && options.weight_decay >= 0,
          "the weight decay must be finite and not negative, got {}", options.weight_decay);
  const double clips[] = {options.clipvalue, options.clipnorm, options.global_clipnorm};
  require(std::ranges::all_of(clips, [](double clip) { return std::isfinite(clip) && clip >= 0; }) &&
              std::ranges::count(clips, 0.0) >= 2,
          "at most one of clipvalue, clipnorm and global_clipnorm can be set, finite and above 0; got {}, {} and {}",
          clips[0], clips[1], clips[2]);
  require(options.gradient_accumulation_steps >= 1, "gradient_accumulation_steps must be at least 1, got {}",
          options.gradient_accumulation_steps);
  require(0 <= options.ema_momentum && options.ema_momentum <= 1, "ema_momentum must lie in [0, 1], got {}",
          options.ema_momentum);
  require(options.ema_overwrite_frequency >= 0, "ema_overwrite_frequency must not be negative, got {}",
          options.ema_overwrite_frequency);
}

Tensor copy_of(const Tensor& tensor) {
  const Tensor result = Tensor::empty(tensor.shape(), tensor.dtype());
  copy(tensor, result);
  return result;
}

/// A replica's arguments of the first step. They are in one object, because a vector would be regrouped by element.
struct Order {
  std::vector<Variable> variables;
  std::vector<bool> by_rows;
};

}  // namespace

Optimizer::State::State(const LearningRate& learning_rate, std::unique_ptr<const Rule> rule,
                        const OptimizerOptions& options)
    : rule_(std::move(rule)), options_(options), learning_rate_(learning_rate) {
  check_rate(learning_rate.at(0));
  check_options(options);
}

void Optimizer::State::set_learning_rate(double rate) {
  require<LogicError>(!learning_rate_.is_schedule(),
                      "this optimizer's learning rate follows a schedule; make it with a number to be able to set it");
  check_rate(rate);
  learning_rate_ = rate;
  if (restored_) restored_->learning_rate = rate;  // the first step loads the restored state
}

void Optimizer::State::check_numerics(bool on) {
  checks_numerics_ = on;
  for (const Group& group : groups_) group.reducer->check_numerics(on);
}

std::int64_t Optimizer::State::steps(int replica) const {
  if (!steps_.empty()) return steps_.at(static_cast<std::size_t>(replica));
  return restored_ ? restored_->steps : 0;
}

std::vector<Optimizer::Rule::Slot> Optimizer::State::slots() const {
  std::vector<Rule::Slot> slots = rule_->slots();
  if (options_.use_ema) slots.push_back({.name = "average"});
  return slots;
}

bool Optimizer::State::needs_sums() const {
  return rule_->scales_by_norms() || rule_->computes_variables() || (clips_by_norms() && !clips_own());
}

void Optimizer::State::check_own_updates(const ReplicaContext& context, const std::vector<Variable>& variables) const {
  require<Unsupported>(
      !(rule_->scales_by_norms() || rule_->computes_variables()) || context.num_replicas_in_sync() == 1,
      "this optimizer needs the summed gradients of whole variables: with several replicas it does not take "
      "aggregate = false");
  for (const Variable& variable : variables)
    require<Unsupported>(variable.state().copies().size() == static_cast<std::size_t>(context.num_local_replicas()),
                         "aggregate = false needs a copy for each replica, variable '{}' has {} for {} replicas",
                         variable.name(), variable.state().copies().size(), context.num_local_replicas());
}

void Optimizer::State::prepare(const ReplicaContext& context, const std::vector<Variable>& variables,
                               const std::function<bool(std::size_t)>& by_rows) {
  if (groups_.empty()) {
    Order own{variables, {}};
    for (std::size_t i = 0; i < variables.size(); ++i) own.by_rows.push_back(by_rows(i));
    const auto first_step = [&](const Strategy&, const PerReplica<Order>& orders) {
      verify_same_order(orders.transform([](const Order& order) { return &order.variables; }).local_results());
      // A variable is exchanged as rows if any replica looks up its rows. The reducer handles replicas whose gradient
      // of it is dense.
      std::vector<bool> rows(variables.size());
      for (const Order& order : orders.local_results())
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = rows[i] || order.by_rows[i];
      build(context, variables, std::move(rows));
    };
    context.merge_at("the optimizer's first step", first_step, std::tuple(own));
  }
  const auto strategy = has_strategy() ? context.strategy().state() : nullptr;
  require<LogicError>(strategy == strategy_, "this optimizer has been used under another strategy; make one for each");
  require(variables == variables_,
          "an optimizer belongs to the {} variables of its first step, in their order; make another one for these {}",
          variables_.size(), variables.size());
}

std::vector<Optimizer::State::Group> Optimizer::State::grouped(const ReplicaContext& context,
                                                               const std::vector<Variable>& variables) const {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    // Outside strategies a variable is on the device where it was created.
    std::vector<LogicalDevice> devices = context.strategy().devices();
    const std::vector<Tensor>& copies = variables[i].state().copies();
    if (!has_strategy() && copies.size() == 1) devices = {copies.front().device()};
    const bool excluded = std::ranges::any_of(options_.exclude_from_weight_decay, [&](const std::string& part) {
      return variables[i].name().find(part) != std::string::npos;
    });
    const double decay = excluded ? 0 : rule_->weight_decay(variables[i], options_.weight_decay);
    auto group = std::ranges::find_if(
        groups, [&](const Group& other) { return other.devices == devices && other.weight_decay == decay; });
    if (group == groups.end())
      group = groups.insert(groups.end(), Group{.devices = std::move(devices), .weight_decay = decay});
    group->members.push_back(i);
  }
  return groups;
}

void Optimizer::State::build(const ReplicaContext& context, const std::vector<Variable>& variables,
                             std::vector<bool> by_rows) {
  require(!variables.empty(), "there are no trainable variables to optimize");
  if (restored_) check(*restored_, variables);
  if (!options_.aggregate) check_own_updates(context, variables);
  if (needs_sums() || clips_own()) by_rows.assign(by_rows.size(), false);
  std::vector<float> starts;
  for (const Rule::Slot& slot : slots()) starts.push_back(slot.start);
  const bool own_copies = !options_.aggregate || context.strategy().state()->gradient_update().updates_own_copy();
  std::vector<Group> groups = grouped(context, variables);
  for (Group& group : groups) {
    std::vector<Variable> members;
    const bool every_row = rule_->moves_without_gradient() || group.weight_decay != 0 || options_.use_ema;
    ReducerOptions options{.slots = starts, .by_rows = {}, .every_row = every_row, .own_copies = own_copies};
    for (const std::size_t member : group.members) {
      members.push_back(variables[member]);
      options.by_rows.push_back(by_rows[member]);
    }
    group.reducer = std::make_unique<GradientReducer>(std::move(members), group.devices, options);
    group.reducer->check_numerics(checks_numerics_);
  }
  std::vector<Variable> own = variables;
  std::vector<Variable> constrained;
  std::ranges::copy_if(variables, std::back_inserter(constrained),
                       [](const Variable& variable) { return variable.state().spec().constraint != nullptr; });
  std::vector<std::vector<bool>> keeps;
  const std::vector<Rule::Slot> own_slots = rule_->computes_variables() ? rule_->slots() : std::vector<Rule::Slot>{};
  for (const Variable& variable : variables)
    for (auto& of_variable = keeps.emplace_back(); const Rule::Slot& slot : own_slots)
      of_variable.push_back(rule_->keeps(slot, variable));
  std::vector<std::int64_t> steps(static_cast<std::size_t>(context.num_local_replicas()), 0);
  // From here on only loading the restored state can fail. If it does, the state is as if nothing had been built.
  variables_ = std::move(own);
  constrained_ = std::move(constrained);
  keeps_ = std::move(keeps);
  steps_ = std::move(steps);
  groups_ = std::move(groups);
  strategy_ = has_strategy() ? context.strategy().state() : nullptr;
  if (!restored_) return;
  try {
    take_over(*restored_);
  } catch (...) {
    groups_.clear();
    steps_.clear();
    throw;
  }
  restored_.reset();
}

double Optimizer::State::clip_factor(double norm, double global) const {
  if (options_.clipnorm > 0) return options_.clipnorm / std::max(norm, options_.clipnorm);
  return options_.global_clipnorm / std::max(global, options_.global_clipnorm);
}

GradientReducer::AfterBackward Optimizer::State::after_backward() const {
  const bool transforms = clips_own() || options_.gradient_accumulation_steps > 1;
  return transforms ? GradientReducer::AfterBackward::transform : GradientReducer::AfterBackward::apply;
}

CapturedGradients Optimizer::State::capture(const ReplicaContext& context, GpuCapture& capture, GradientTape& tape,
                                            const Tensor& loss) {
  require<NotCapturable>(groups_.size() == 1, "gradients of {} groups of variables cannot be captured", groups_.size());
  return groups_.front().reducer->capture_backward(context, capture, tape, loss, after_backward());
}

void Optimizer::State::load(const ReplicaContext& context, const CapturedGradients& gradients) {
  groups_.front().reducer->backward(context, gradients);
}

void Optimizer::State::load(const ReplicaContext& context, GradientTape& tape, const Tensor& loss) {
  if (groups_.size() == 1) return groups_.front().reducer->backward(context, tape, loss, after_backward());
  std::vector<Tensor> sources;
  for (const Variable& variable : variables_) sources.push_back(variable.value());
  const NoGradientScope no_recording;  // other tapes must not record this, as in GradientTape::backward
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
    // One group's variables may all be unused, as long as other variables are used.
    if (any && std::ranges::none_of(members, is_defined))
      members.front() = Tensor::zeros(variables_[group.members.front()].shape());
    group.reducer->load(context, members);
  }
}

void Optimizer::State::step(const ReplicaContext& context) try {
  std::int64_t& done = steps_[static_cast<std::size_t>(context.local_replica())];
  const bool accumulates = (done + 1) % options_.gradient_accumulation_steps != 0;
  const bool averages = options_.use_ema && average_step(done).overwrites;
  // Replicas may share a copy. Those that have not reached the update's barriers still differentiate with its old
  // value, and those that have left them may record its new one: hence a time before them that is set after them.
  const std::uint64_t time = Parameter::new_time();
  if (clips_own()) clip_own(context);
  if (accumulates)
    accumulate(context, done);
  else if (needs_sums())
    update_from_sums(context, done);
  else
    update(context, done);
  if (!constrained_.empty()) constrain(context);  // as in Keras, even in a step that only accumulates
  for (const Variable& variable : accumulates && !averages ? constrained_ : variables_)
    variable.state().set_changed(context.local_replica(), time);
  ++done;
} catch (Error& error) {
  rethrow_from("the optimizer's step", error);
}

void Optimizer::State::clip_own(const ReplicaContext& context) const {
  std::vector<Tensor> gradients;
  for (const Group& group : groups_)
    for (std::size_t i = 0; i < group.members.size(); ++i) gradients.push_back(group.reducer->own_gradient(context, i));
  if (options_.clipvalue > 0) {
    const auto limit = static_cast<float>(options_.clipvalue);
    for (const Tensor& gradient : gradients) {
      launch(kernels::Unary{functor::Maximum{-limit}, gradient, gradient});
      launch(kernels::Unary{functor::Minimum{limit}, gradient, gradient});
    }
  } else if (clips_by_norms()) {
    std::vector<double> squares;
    for (const Tensor& gradient : gradients)
      squares.push_back(launch(kernels::SquaredNorm{gradient.data<float>(), gradient.elements()}));
    const double global = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      copy(gradients[i] * clip_factor(std::sqrt(squares[i]), global), gradients[i]);
  }
}

OptimizerStep Optimizer::State::next_step(std::int64_t done) const {
  OptimizerStep step = rule_->step(static_cast<float>(learning_rate_.at(done)), update_number(done));
  set_gradients(step);
  return step;
}

void Optimizer::State::set_gradients(StepOptions& step) const {
  step.gradient_scale = 1 / static_cast<float>(options_.gradient_accumulation_steps);
  if (options_.clipvalue > 0 && !clips_own()) step.clip_value = static_cast<float>(options_.clipvalue);
}

void Optimizer::State::add_common(StepOptions& step, const Group& group, std::int64_t done) const {
  step.decay = static_cast<float>(group.weight_decay * learning_rate_.at(done));
  if (!options_.use_ema) return;
  const AverageStep average = average_step(done);
  step.average = average.overwrites ? OptimizerStep::Average::overwrite : OptimizerStep::Average::keep;
  step.average_momentum = average.momentum;
}

AverageStep Optimizer::State::average_step(std::int64_t done) const {
  const std::int64_t t = update_number(done);
  const int frequency = options_.ema_overwrite_frequency;
  return {.momentum = t == 1 ? 0.0F : static_cast<float>(options_.ema_momentum),
          .overwrites = frequency > 0 && t % frequency == 0};
}

void Optimizer::State::accumulate(const ReplicaContext& context, std::int64_t done) const {
  for (const Group& group : groups_) {
    group.reducer->accumulate(context);
    if (options_.use_ema) group.reducer->move_average(context, slots().size() - 1, average_step(done));
  }
}

void Optimizer::State::update(const ReplicaContext& context, std::int64_t done) const {
  for (const Group& group : groups_) {
    OptimizerStep step = next_step(done);
    add_common(step, group, done);
    const auto update = [&](const UpdateViews& views) { launch(kernels::Update{step, views}); };
    options_.aggregate ? group.reducer->apply(context, update) : group.reducer->apply_own(context, update);
  }
}

void Optimizer::State::constrain(const ReplicaContext& context) const {
  const PhaseTimer timer(Phase::update);
  const int replica = context.local_replica();
  const int replicas = context.num_local_replicas();
  const auto is_shared = [&](const Variable& variable) {
    return replicas > 1 && variable.state().copies().size() == 1;
  };
  const bool shared = std::ranges::any_of(constrained_, is_shared);
  // Only the replica itself uses its own copy. A copy that all replicas share may be in use until all have reached this
  // point.
  if (shared) context.local_barrier("the constraints of variables");
  for (std::size_t i = 0; i < constrained_.size(); ++i) {
    const VariableState& state = constrained_[i].state();
    const bool mine = !is_shared(constrained_[i]) || static_cast<int>(i) % replicas == replica;
    if (mine) state.spec().constraint(state.copy_for(replica));
  }
  if (shared) context.local_barrier("the end of the constraints of variables");
}

std::pair<const GradientReducer&, std::size_t> Optimizer::State::place_of(std::size_t variable) const {
  for (const Group& group : groups_) {
    const auto member = std::ranges::find(group.members, variable);
    if (member != group.members.end())
      return {*group.reducer, static_cast<std::size_t>(member - group.members.begin())};
  }
  fail<BrokenInvariant>("variable {} is in no group of the optimizer", variable);
}

Tensor Optimizer::State::value(std::size_t variable, std::size_t slot) const {
  const auto [reducer, member] = place_of(variable);
  return reducer.state(member, slot);
}

void Optimizer::State::finalize_variable_values() const {
  if (!options_.use_ema || groups_.empty() || steps(0) == 0) return;  // without a step there are no averages
  const std::size_t average = slots().size() - 1;
  for (std::size_t i = 0; i < variables_.size(); ++i) variables_[i].assign(value(i, average));
}

OptimizerConfig Optimizer::State::config() const {
  OptimizerConfig config{.rule = rule_->config(), .common = options_, .learning_rate = learning_rate_};
  for (const Rule::Slot& slot : rule_->slots()) {
    if (!slot.beside_previous) config.slots.emplace_back();
    config.slots.back().push_back(slot.name);
  }
  config.has_slot = [rule = rule_](const std::string& name, const Variable& variable) {
    const std::vector<Rule::Slot> slots = rule->slots();
    const auto slot = std::ranges::find(slots, name, &Rule::Slot::name);
    return slot == slots.end() || rule->keeps(*slot, variable);
  };
  config.left_out_axis = [slots = rule_->slots()](const std::string& name) {
    const auto slot = std::ranges::find(slots, name, &Rule::Slot::name);
    return slot == slots.end() ? 0 : slot->left_out_axis;
  };
  config.scalars = rule_->scalars(iterations(0));
  return config;
}

OptimizerState Optimizer::State::save() const {
  if (groups_.empty() && restored_) return *restored_;
  OptimizerState state{.steps = steps(0), .learning_rate = learning_rate(), .slots = {}};
  if (groups_.empty()) return state;
  const std::vector<Rule::Slot> kept = slots();
  for (std::size_t slot = 0; slot < kept.size(); ++slot) {
    state.slots.push_back({.name = kept[slot].name, .values = {}});
    for (std::size_t i = 0; i < variables_.size(); ++i) state.slots.back().values.push_back(copy_of(value(i, slot)));
  }
  return state;
}

void Optimizer::State::restore(const OptimizerState& state) {
  check_rate(state.learning_rate);
  require(state.steps >= 0 && state.steps < std::int64_t{1} << 62, "an optimizer cannot have done {} steps",
          state.steps);
  if (!groups_.empty()) {
    check(state, variables_);
    return take_over(state);
  }
  OptimizerState own = state;
  for (OptimizerState::Slot& slot : own.slots)
    for (Tensor& values : slot.values) values = copy_of(values);
  restored_ = std::move(own);
  if (!learning_rate_.is_schedule()) learning_rate_ = state.learning_rate;
}

void Optimizer::State::check(const OptimizerState& state, const std::vector<Variable>& variables) const {
  const std::vector<Rule::Slot> own = slots();
  if (state.steps == 0 && state.slots.empty()) return;  // saved before the optimizer's first step
  require(std::ranges::equal(state.slots, own, {}, &OptimizerState::Slot::name, &Rule::Slot::name),
          "this optimizer keeps {} values of each parameter; the state to load has {}, or other names for them",
          own.size(), state.slots.size());
  for (const OptimizerState::Slot& slot : state.slots) {
    require(slot.values.size() == variables.size(), "the optimizer has {} variables, the state to load {}",
            variables.size(), slot.values.size());
    for (std::size_t i = 0; i < variables.size(); ++i)
      require(slot.values[i].defined() && slot.values[i].shape() == variables[i].shape() &&
                  slot.values[i].dtype() == DType::f32,
              "the {} of '{}' must be f32 {}, the state to load has {}", slot.name, variables[i].name(),
              variables[i].shape(), slot.values[i]);
  }
}

void Optimizer::State::take_over(const OptimizerState& state) {
  const std::vector<Rule::Slot> own = slots();
  for (std::size_t slot = 0; slot < own.size(); ++slot)
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const auto [reducer, member] = place_of(i);
      const bool is_saved = !state.slots.empty();  // not before the first step
      reducer.set_state(member, slot,
                        is_saved ? state.slots[slot].values[i] : Tensor::full(variables_[i].shape(), own[slot].start));
    }
  std::ranges::fill(steps_, state.steps);
  if (!learning_rate_.is_schedule()) learning_rate_ = state.learning_rate;
}

}  // namespace lockstep
