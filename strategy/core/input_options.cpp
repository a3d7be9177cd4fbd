#include "lockstep/strategy/core/input_options.h"

#include <algorithm>

#include <fmt/core.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

int input_threads(std::span<const LogicalDevice> devices, int cores) {
  for (const LogicalDevice& device : devices) cores -= device.kind == DeviceKind::cpu ? device.cores : 1;
  return std::max(1, cores);
}

std::int64_t InputContext::get_per_replica_batch_size(std::int64_t global_batch_size) const {
  require(global_batch_size >= 1 && global_batch_size % num_replicas_in_sync == 0,
          "a global batch of {} does not divide into equal batches for {} replicas", global_batch_size,
          num_replicas_in_sync);
  return global_batch_size / num_replicas_in_sync;
}

std::string InputContext::text() const {
  return fmt::format("input pipeline id {}, total: {}", input_pipeline_id, num_input_pipelines);
}

}  // namespace lockstep
