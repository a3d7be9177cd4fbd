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
  int early_stopping = 0;  ///< epochs without improvement after which training stops, at most INT_MAX - 2; 0: never
  std::optional<std::int64_t> steps_per_epoch{};
  UpdateOptions update{};
  CompileOptions compiled{};
  std::optional<DTypePolicy> dtype_policy{};
  std::optional<double> dropout{};  ///< default: the model's own rate
  /// Names of files and folders; empty: the option was not given.
  std::string weights{}, save{}, history{}, step_log{}, plot{}, checkpoint{}, csv{}, tensorboard{}, trace{};
  bool resume = false;
  std::int64_t verify_every = 0;  ///< see FitOptions
  bool check_numerics = false;
  bool cuda_graphs = false;
  std::string class_weight{};  ///< "balanced"; empty: all classes have weight 1
  std::string batch_shares{};  ///< "2,1" or "auto"; empty: equal shares
  bool cache_on_devices = false;
  bool json = false;

  /// Throws InvalidArgument or InputError for options whose errors can be detected before any work starts, except
  /// outputs.
  void check() const;
  /// Throws InvalidArgument or InputError for outputs that cannot be written on this worker, or that would replace the
  /// data, each other or the weights of another run.
  void check_outputs() const;
  ///@{
  /// The files of the weights that --checkpoint writes.
  std::string best_weights() const { return checkpoint + "/best.weights.h5"; }
  std::string last_weights() const { return checkpoint + "/last.weights.h5"; }
  ///@}
  /// The files that the model and its weights are read from, by a run that `resumes` also those of --checkpoint; the
  /// latest weights are first.
  std::vector<std::string> trained_files(bool resumes) const;
  /// The folder with the backup that --resume continues from.
  std::string backup_folder() const { return checkpoint + "/backup"; }
  /// Whether the folder has a backup.
  bool has_backup() const;
  /// Options for Strategy::distribute, from --batch-shares and --cache-on-devices. Throws InvalidArgument unless
  /// --batch-shares is empty, "auto" or one positive number for each replica, and with multi-gpu-model unless it is
  /// empty.
  DistributeOptions distribute_options() const;
};

}  // namespace lockstep::cli
