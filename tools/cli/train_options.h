#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <lockstep/strategy/input/input_options.h>

#include "data_source.h"
#include "replica_options.h"

namespace lockstep::cli {

/// Everything `lockstep train` can be told.
struct TrainOptions {
  std::string model = "minigooglenet";
  DataOptions data{};
  ReplicaOptions replicas{};
  int epochs = 1;
  std::optional<std::int64_t> steps_per_epoch{};
  std::string optimizer = "sgd";
  std::optional<double> learning_rate{};  ///< default: the optimizer's, as in Keras
  double momentum = 0;
  std::string schedule = "constant";
  std::string precision = "float32";
  std::optional<double> dropout{};
  std::string weights{}, save{}, history{}, step_log{}, plot{}, backup_dir{}, csv{}, tensorboard{};
  std::int64_t verify_every = 0;
  bool check_numerics = false;
  std::string batch_shares{};  ///< "2,1" or "auto"; empty: equal ones
  bool json = false;

  void add_to(CLI::App& command);
  /// Throws InvalidArgument or InputError, before any work, for what can be seen to be wrong.
  void check() const;
  /// What --batch-shares says. Throws InvalidArgument for what is neither numbers nor auto.
  DistributeOptions distribute_options() const;
};

}  // namespace lockstep::cli
