#include "lockstep/models/libtorch/replicated.h"

#include <mutex>

#include <ATen/Parallel.h>

#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::libtorch {
namespace {

/// Lets libtorch's ops on the calling thread use the replica's share of the cores.
void use_cores_of_replica() {
  thread_local int set = 0;
  if (set == compute_threads()) return;
  static std::mutex one_at_a_time;  // libtorch also stores the number for all threads
  const std::lock_guard lock(one_at_a_time);
  set = compute_threads();
  at::set_num_threads(set);
}

}  // namespace

int replica_here(const Strategy& strategy) {
  const ExecutionContext& context = current_context();
  const int replicas = strategy.num_local_replicas();
  require<LogicError>(context.in_replica() || replicas == 1,
                      "outside run(), each of the {} replicas has its own module or optimizer: use for_each() for all "
                      "of them, or first() to read one",
                      replicas);
  if (!context.in_replica()) return 0;
  require<LogicError>(get_strategy() == strategy,
                      "this module or optimizer belongs to a strategy other than the running one");
  use_cores_of_replica();
  return context.replica;
}

}  // namespace lockstep::libtorch
