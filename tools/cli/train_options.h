#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/strategy/core/input_options.h>

#include "data_source.h"
#include "model_source.h"
#include "replica_options.h"
#include "update_options.h"

namespace lockstep::cli {

/// The options of `lockstep train`.
struct TrainOptions {
  std::string model = "minigooglenet";
  DataOptions data{};
  ReplicaOptions replicas{};
  int epochs = 1;
  int early_stopping = 0;  ///< epochs without improvement after which training stops; 0: never
  std::optional<std::int64_t> steps_per_epoch{};
  UpdateOptions update{};
  CompileOptions compiled{};
  std::optional<DTypePolicy> dtype_policy{};
  std::optional<double> dropout{};
  std::string weights{}, save{}, history{}, step_log{}, plot{}, checkpoint{}, csv{}, tensorboard{}, trace{};
  bool resume = false;
  std::int64_t verify_every = 0;
  bool check_numerics = false;
  bool cuda_graphs = false;
  std::string batch_shares{};  ///< "2,1" or "auto"; empty: equal ones
  bool json = false;

  /// Throws InvalidArgument or InputError, before any work, for what can be seen to be wrong.
  void check() const;
  /// Where --checkpoint keeps what --resume continues from.
  std::string backup_folder() const { return checkpoint + "/backup"; }
  /// Whether there is something in it.
  bool has_backup() const;
  /// What --batch-shares says. Throws InvalidArgument for what is neither numbers nor auto.
  DistributeOptions distribute_options() const;
};

}  // namespace lockstep::cli
