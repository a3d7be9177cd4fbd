#include "lockstep/strategy/core/strategy.h"

#include <utility>

#include <lockstep/runtime/device/context.h>
#include <lockstep/strategy/core/default_strategy.h>
#include <lockstep/strategy/core/names.h>
#include <lockstep/strategy/core/thread_strategy.h>

namespace lockstep {

/// A thread's scopes, all of one strategy.
struct OpenScopes {
  std::shared_ptr<StrategyState> strategy;  ///< the thread's current strategy
  int count = 0;                            ///< number of open scopes
  std::shared_ptr<StrategyState> before;    ///< the thread's strategy before the first of the open scopes
};

namespace {

/// The strategy of this thread's last call of `set_strategy`.
std::shared_ptr<StrategyState>& lasting_strategy() {
  thread_local std::shared_ptr<StrategyState> strategy;
  return strategy;
}

/// This thread's scopes; null until the thread opens its first scope.
std::shared_ptr<OpenScopes>& open_scopes() {
  thread_local std::shared_ptr<OpenScopes> scopes;
  return scopes;
}

/// Throws LogicError if this thread has a strategy other than `next`.
void check_no_other(const std::shared_ptr<StrategyState>& next, const char* function) {
  const auto& open = thread_strategy();
  require<LogicError>(!open || open == next,
                      "mixing different strategies: {}() was called inside the scope of a different strategy",
                      function);
}

}  // namespace

std::shared_ptr<StrategyState>& thread_strategy() {
  thread_local std::shared_ptr<StrategyState> before_all_scopes;
  return open_scopes() ? open_scopes()->strategy : before_all_scopes;
}

Scope::Scope(std::shared_ptr<StrategyState> strategy) {
  require<LogicError>(!current_context().in_replica(), "scope() was called inside a replica; open it before run()");
  check_no_other(strategy, "scope");
  if (!open_scopes()) {
    auto first = std::make_shared<OpenScopes>();
    first->strategy = std::move(thread_strategy());
    open_scopes() = std::move(first);
  }
  open_scopes_ = open_scopes();
  if (open_scopes_->count++ == 0) open_scopes_->before = thread_strategy();
  thread_strategy() = std::move(strategy);
}

Scope::~Scope() {
  if (--open_scopes_->count == 0) open_scopes_->strategy = std::move(open_scopes_->before);
}

int StrategyState::num_replicas_in_sync() const {
  return static_cast<int>(devices().size()) * (cluster() ? cluster()->size() : 1);
}

int StrategyState::first_replica() const {
  return static_cast<int>(devices().size()) * (cluster() ? cluster()->rank() : 0);
}

bool Strategy::is_chief() const { return state_->cluster() == nullptr || state_->cluster()->is_chief(); }

std::optional<ClusterSpec> Strategy::cluster_resolver() const {
  const Cluster* const cluster = state_->cluster();
  if (!cluster) return std::nullopt;
  if (std::optional<ClusterSpec> given = tf_config()) return given;
  ClusterSpec spec{.rank = cluster->rank()};
  for (int worker = 0; worker < cluster->size(); ++worker) spec.addresses.push_back(cluster->host_of(worker));
  return spec;
}

std::shared_ptr<VariableState> StrategyState::make_variable(VariableSpec spec) {
  spec.name = scoped_name(spec.name);
  std::shared_ptr<VariableState> made = create_variable(std::move(spec));
  const std::lock_guard lock(variables_mutex_);
  std::erase_if(variables_, [](const std::weak_ptr<VariableState>& variable) { return variable.expired(); });
  variables_.push_back(made);
  return made;
}

std::shared_ptr<VariableState> StrategyState::variable_of_copy(const Tensor& copy) const {
  const std::lock_guard lock(variables_mutex_);
  for (const std::weak_ptr<VariableState>& variable : variables_) {
    const std::shared_ptr<VariableState> living = variable.lock();
    if (!living) continue;
    for (const Tensor& own : living->copies())
      if (own.id() == copy.id()) return living;
  }
  return nullptr;
}

void Strategy::check_run(std::initializer_list<int> replicas_of_arguments) const {
  require<LogicError>(!current_context().in_replica(), "run() was called inside a replica");
  require<LogicError>(!current_context().in_update(), "run() was called inside update()");
  check_no_other(state_.shared(), "run");
  for (const int replicas : replicas_of_arguments)
    require(replicas == 0 || replicas == num_local_replicas(),
            "an argument of run() has values for {} replicas, the strategy has {}", replicas, num_local_replicas());
}

void Strategy::update_copies(const Variable& variable, const std::function<void(int)>& job) const {
  require<LogicError>(!current_context().in_replica(),
                      "update() was called inside a replica; call it in the function given to merge_call");
  check_no_other(state_.shared(), "update");
  const Scope inside(state_.shared());
  variable.state().check_strategy();
  const auto& copies = variable.state().copies();
  for (int copy = 0; copy < static_cast<int>(copies.size()); ++copy) {
    ExecutionContext context = current_context();
    context.device = copies[static_cast<std::size_t>(copy)].device();
    context.update = copy;
    const ContextScope scope(context);
    job(copy);
  }
}

bool has_strategy() { return thread_strategy() && thread_strategy() != default_strategy(); }

bool in_cross_replica_context() {
  return has_strategy() && !current_context().in_replica() && !current_context().in_update();
}

Strategy get_strategy() { return Strategy(has_strategy() ? thread_strategy() : default_strategy()); }

void set_strategy(const std::optional<Strategy>& strategy) {
  const bool inside = (open_scopes() && open_scopes()->count > 0) || thread_strategy() != lasting_strategy();
  require<LogicError>(!inside && !current_context().in_replica(),
                      "set_strategy() must not be called inside a strategy's scope or replica");
  lasting_strategy() = strategy ? strategy->state() : nullptr;
  thread_strategy() = lasting_strategy();
}

}  // namespace lockstep
