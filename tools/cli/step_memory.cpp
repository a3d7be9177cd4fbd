#include "step_memory.h"

#include <lockstep/runtime/memory/allocator.h>

#include "speed.h"

namespace lockstep::cli {

StepMemory measure_step_memory(Model& model, ModelKind kind, std::int64_t examples) {
  model.compile(make_usual_optimizer(kind), make_loss(kind));
  // The first step allocates what later steps reuse.
  train_at_speed(model, kind, {.global_batch = examples, .warmup = 1, .steps = 1});
  const AllocatorStats stats = allocator(model.strategy().devices().front()).stats();
  const auto mb = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  return {.state_mb = mb(stats.bytes_in_use), .peak_mb = mb(stats.bytes_peak)};
}

}  // namespace lockstep::cli
