#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/training/model.h>

#include "data_source.h"
#include "replica_options.h"
#include "workload.h"

namespace lockstep::cli {

/// The choices of --model, for the help text of commands that also accept a saved model's file.
std::string model_or_file_names();
/// Whether --model names a file with a whole model.
bool is_model_file(const std::string& model);
/// Throws InvalidArgument if `model` is neither the name of a zoo model nor a file name with an extension for whole
/// models. For a file, throws InvalidArgument if the strategy is multi-gpu-model, and InputError if the file does not
/// exist or cannot be read.
void check_model(const std::string& model, const ReplicaOptions& replicas);

struct ModelAndData {
  Model model;
  TrainingData data;
  std::string optimizer_problem{};  ///< why the optimizer in the file cannot be loaded; empty if there is no problem
};

/// Which part of a saved model's compile configuration a command needs. Unknown metrics are left out, with a warning.
enum class Compiled { not_needed, for_evaluation, for_training };

/// Loss and metrics given by options. They replace a saved model's own, or the defaults of a zoo model.
struct CompileOptions {
  std::string loss{};  ///< name as in Keras; empty: not given
  bool from_logits = false;
  std::vector<std::string> metrics{};

  /// The loss; nullopt if no name is given. Throws InputError for an unknown name, and if `from_logits` is set for a
  /// loss without this option.
  std::optional<Loss> make_loss() const;
  /// The metrics; nullopt if none are given. Throws InputError for an unknown name.
  std::optional<std::vector<Metric>> make_metrics() const;
  /// Compiles a zoo model with the given loss and metrics. Default: the loss of the model's kind, and accuracy.
  void compile(Model& model, ModelKind kind, const Optimizer& optimizer) const;
};

/// The option `ignore_class` of the first output's loss in a compiled model; nullopt if the loss has no ignored class.
std::optional<std::int64_t> ignored_class(const Model& model);

/// Throws InvalidArgument if a precision is given for a model from a file.
void require_no_precision(const std::string& model, const std::optional<DTypePolicy>& policy);

/// Makes the model, distributed over the replicas, and loads data that suit it. Compiles a model from a file with
/// `given` and the parts of the file's configuration that `needed` names; does not compile a zoo model. Throws the
/// errors of load_data, load_model, parse_model and make_model. For a model from a file, throws InputError if it has
/// inputs of different or unknown shapes, and if a loss is needed but neither the file nor `given` has one; throws
/// InvalidArgument if settings.dropout or settings.dtype_policy is given. data.sequence_length must be given for a
/// model from a file that takes any number of ids, and must not be given for other models; otherwise throws
/// InvalidArgument.
ModelAndData make_model_and_data(const std::string& model, ModelSettings settings, const DataOptions& data,
                                 const ReplicaOptions& replicas, const Strategy& strategy, Compiled needed,
                                 const CompileOptions& given);

}  // namespace lockstep::cli
