#include <utility>

#include <lockstep/kernels/backend.h>
#include <lockstep/runtime/thread/context.h>
#include <lockstep/strategy/core/default_strategy.h>
#include <lockstep/strategy/core/strategy.h>
#include <lockstep/strategy/core/thread_strategy.h>

namespace lockstep {
namespace {

/// `next`, once it is clear that its scope may be opened here.
std::shared_ptr<StrategyState> checked_for_scope(std::shared_ptr<StrategyState> next) {
  require<LogicError>(!current_context().in_replica(), "scope() was called inside a replica; open it before run()");
  const auto& open = thread_strategy();
  require<LogicError>(!open || open == next, "scope() was called inside the scope of a different strategy");
  return next;
}

}  // namespace

std::shared_ptr<StrategyState>& thread_strategy() {
  thread_local std::shared_ptr<StrategyState> strategy;
  return strategy;
}

Scope::Scope(std::shared_ptr<StrategyState> strategy)
    : creator_(
          [state = checked_for_scope(strategy)](VariableSpec spec) { return state->create_variable(std::move(spec)); }),
      previous_(std::exchange(thread_strategy(), std::move(strategy))) {}

Scope::~Scope() { thread_strategy() = std::move(previous_); }

void Strategy::check_run(std::initializer_list<int> replicas_of_arguments) const {
  require<LogicError>(!current_context().in_replica(), "run() was called inside a replica");
  for (const int replicas : replicas_of_arguments)
    require(replicas == 0 || replicas == num_replicas_in_sync(),
            "an argument of run() has values for {} replicas, the strategy has {}", replicas, num_replicas_in_sync());
}

Tensor Strategy::reduce(ReduceOp op, const PerReplica<Tensor>& values) const {
  require<LogicError>(!current_context().in_replica(), "reduce() was called inside a replica; use all_reduce there");
  require(values.size() == num_replicas_in_sync(), "reduce() got values of {} replicas, the strategy has {}",
          values.size(), num_replicas_in_sync());
  const Tensor& first = values[0];
  std::vector<const float*> in;
  for (int replica = 0; replica < values.size(); ++replica) {
    const Tensor& value = values[replica];
    require(value.defined() && value.dtype() == DType::f32 && value.is_dense(),
            "reduce() takes dense f32 tensors, replica {} has {}", replica, value);
    require(value.shape() == first.shape(),
            "reduce() needs values of the same shape, replica 0 has {}, replica {} has {}", first, replica, value);
    in.push_back(value.data<float>());
  }
  const Tensor result = Tensor::empty(first.shape());
  float* const out = result.data<float>();
  current_backend().reduce(op, {in, std::span(&out, 1), result.elements()});
  return result;
}

bool has_strategy() { return thread_strategy() != nullptr; }

Strategy get_strategy() { return Strategy(has_strategy() ? thread_strategy() : default_strategy()); }

}  // namespace lockstep
