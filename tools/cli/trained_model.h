#pragma once

#include <string>

#include "model_source.h"

namespace lockstep::cli {

/// What evaluate and predict have in common: a trained model, and data that it has not been trained on.
struct TrainedModelOptions {
  std::string model = "minigooglenet";
  std::string weights{};
  DataOptions data{.for_training = false, .shuffle = false};
  ReplicaOptions replicas{};
  CompileOptions compiled{};  ///< of evaluate alone
  std::optional<DTypePolicy> dtype_policy{};

  /// Throws InvalidArgument or InputError, before any work, for what can be seen to be wrong.
  void check() const;
};

/// A model over its replicas and the examples: those to test, or all where there are none.
struct TrainedModel {
  Model model;
  std::string data;         ///< for people
  std::string preparation;  ///< as in TrainingData
  Dataset examples;
  std::int64_t count;
  std::vector<std::string> class_names;      ///< as in TrainingData
  std::vector<std::filesystem::path> files;  ///< by example, as in TrainingData
};

/// Throws as make_model_and_data, and InputError for weights that do not fit.
TrainedModel make_trained_model(const TrainedModelOptions& options, Compiled needed);

}  // namespace lockstep::cli
