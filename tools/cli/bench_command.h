#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/layers/dtype_policy.h>

#include "replica_options.h"

namespace lockstep::cli {

struct BenchOptions {
  std::string model = "minigooglenet";
  ReplicaOptions replicas{};
  std::int64_t batch_size = 0;  ///< of the global batch; 0: 64 per replica
  std::int64_t steps = 30;
  std::int64_t warmup = 5;
  std::uint64_t seed = 0;
  std::optional<DTypePolicy> dtype_policy{};
  bool cuda_graphs = false;
  bool json = false;
};

int run(const BenchOptions& options);

}  // namespace lockstep::cli
