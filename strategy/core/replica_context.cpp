#include <lockstep/kernels/ops/gradient.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/core/thread_strategy.h>

namespace lockstep {

Tensor ReplicaContext::all_reduce(ReduceOp op, const Tensor& value) const {
  const Tensor result = collective().all_reduce(replica_, op, value);
  if (recording({value})) {
    require<Unsupported>(op == ReduceOp::sum || op == ReduceOp::mean,
                         "all_reduce of {} has no gradient; use sum or mean", name(op));
    record("all_reduce", {value}, result, [context = *this, op](BackwardContext& backward) {
      pass_on(backward, 0, context.collective().all_reduce(context.replica_, op, backward.gradient(0)));
    });
  }
  return result;
}

ReplicaContext get_replica_context() {
  const ExecutionContext& context = current_context();
  require<LogicError>(
      context.in_replica() || !has_strategy(),
      "there is no replica here: this is the strategy's scope; call it inside the function given to run()");
  return {get_strategy().state(), context.in_replica() ? context.replica : 0};
}

}  // namespace lockstep
