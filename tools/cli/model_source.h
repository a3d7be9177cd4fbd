#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/training/model.h>

#include "data_source.h"
#include "replica_options.h"
#include "workload.h"

namespace lockstep::cli {

/// What --model can be where it may be a file, for people.
std::string model_or_file_names();
/// Whether --model names a file: a whole model.
bool is_model_file(const std::string& model);
/// Throws InvalidArgument for a model that is neither known nor a whole model's file, InputError for a file that is not
/// there.
void check_model(const std::string& model, const ReplicaOptions& replicas);

struct ModelAndData {
  Model model;
  TrainingData data;
  std::string optimizer_problem{};  ///< why a file's optimizer cannot be used, if that is so
};

/// What a command needs of how a file's model was compiled. Metrics that are unknown are left out, with a warning.
enum class Compiled { not_needed, for_evaluation, for_training };

/// What a model is to reach and how it is measured, in place of what a file or the zoo says of it.
struct CompileOptions {
  std::string loss{};  ///< Keras' name; empty: not given
  bool from_logits = false;
  std::vector<std::string> metrics{};

  /// Throws InputError for a name that is unknown, and for a loss that has no logits.
  std::optional<Loss> make_loss() const;
  /// Throws InputError for a name that is unknown.
  std::optional<std::vector<Metric>> make_metrics() const;
  /// Compiles a model of the zoo.
  void compile(Model& model, ModelKind kind, const Optimizer& optimizer) const;
};

/// Throws InvalidArgument where a precision was given for a model of a file.
void require_no_precision(const std::string& model, const std::optional<DTypePolicy>& policy);

/// The model over the replicas, and data that suit it. One of a file is compiled, as the file says, if that is needed;
/// one of the zoo is not. Throws InputError for a file that does not say a loss that is needed and not given,
/// InvalidArgument for data that do not suit it.
ModelAndData make_model_and_data(const std::string& model, ModelSettings settings, const DataOptions& data,
                                 const ReplicaOptions& replicas, const Strategy& strategy, Compiled needed,
                                 const CompileOptions& given);

}  // namespace lockstep::cli
