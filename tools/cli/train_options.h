#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

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
  std::string weights{}, save{}, history{}, step_log{}, plot{};
  std::int64_t verify_every = 0;
  bool json = false;

  void add_to(CLI::App& command);
  /// Throws InvalidArgument or InputError, before any work, for what can be seen to be wrong.
  void check() const;
};

}  // namespace lockstep::cli
