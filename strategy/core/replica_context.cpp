#include "lockstep/strategy/core/replica_context.h"

#include <string_view>

#include <lockstep/strategy/core/names.h>
#include <lockstep/strategy/core/thread_strategy.h>

namespace lockstep {

std::shared_ptr<VariableState> ReplicaContext::create_variable(VariableSpec spec) const {
  require<LogicError>(!strategy_->has_stepped(),
                      "variable '{}' is made inside run() after the first step, where it would be a new one in every "
                      "step; make it in scope(), or in the first step only",
                      spec.name);
  const auto create = [](const Strategy& strategy, const PerReplica<VariableSpec>& specs) {
    const VariableSpec& first = specs[0];
    for (int replica = 1; replica < specs.size(); ++replica) {
      const VariableSpec& other = specs[replica];
      require<LogicError>(canonical_name(other.name) == canonical_name(first.name) && other.shape == first.shape &&
                              other.dtype == first.dtype,
                          "replicas make different variables: '{}' {} of {} on replica 0, '{}' {} of {} on replica {}",
                          first.name, first.shape, lockstep::name(first.dtype), other.name, other.shape,
                          lockstep::name(other.dtype), replica);
    }
    return strategy.state()->make_variable(first);
  };
  return merge_at("the creation of a variable", create, std::tuple(std::move(spec)));
}

std::string ReplicaContext::place_of(const std::source_location& where) {
  const std::string_view file = where.file_name();
  return fmt::format("merge_call at {}:{}", file.substr(file.find_last_of('/') + 1), where.line());
}

void ReplicaContext::check_here() const {
  const ExecutionContext& context = current_context();
  const bool default_strategy = !has_strategy() && num_replicas_in_sync() == 1;
  require<LogicError>(default_strategy || (context.replica == replica_ && thread_strategy() == strategy_.shared()),
                      "the context of replica {} is used on another thread than that replica's; get it with "
                      "get_replica_context() where it is used",
                      replica_);
}

void ReplicaContext::barrier(const char* place) const {
  local_barrier(place);
  Cluster* const workers = strategy_->cluster();
  if (!workers) return;
  if (replica_ == 0) workers->all_gather(place, "");
  local_barrier(place);
}

ReplicaContext get_replica_context() {
  const ExecutionContext& context = current_context();
  require<LogicError>(
      context.in_replica() || !has_strategy(),
      "there is no replica here: this is the strategy's scope; call it inside the function given to run()");
  return {get_strategy().state(), context.in_replica() ? context.replica : 0};
}

}  // namespace lockstep
