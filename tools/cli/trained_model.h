#pragma once

#include <string>

#include "model_source.h"

namespace lockstep::cli {

/// Options that evaluate and predict share: a trained model and data to run it on.
struct TrainedModelOptions {
  std::string model = "minigooglenet";
  std::string weights{};
  DataOptions data{.shuffle = false};
  ReplicaOptions replicas{};
  CompileOptions compiled{};  ///< used by evaluate only
  std::optional<DTypePolicy> dtype_policy{};

  /// Throws InvalidArgument or InputError for options whose errors can be detected before any work starts.
  void check() const;
};

/// A model distributed over its replicas, and the test examples or, if there are none, all examples.
struct TrainedModel {
  Model model;
  std::string data;         ///< name of the data, for messages
  std::string preparation;  ///< as in TrainingData
  Dataset examples;
  std::int64_t count;                    ///< number of examples
  std::vector<std::string> class_names;  ///< as in TrainingData
  RowNames rows;                         ///< as in TrainingData
  bool each_step;                        ///< as in TrainingData
};

/// `strategy` is that of options.replicas. Throws like make_model_and_data, and InputError for weights that do not fit
/// the model.
TrainedModel make_trained_model(const TrainedModelOptions& options, const Strategy& strategy, Compiled needed);

}  // namespace lockstep::cli
