#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/training/model.h>

#include "data_source.h"
#include "replica_options.h"
#include "workload.h"

namespace lockstep::cli {

/// The choices of --model where it may be a file, for the help text.
std::string model_or_file_names();
/// Whether --model names a file with a whole model.
bool is_model_file(const std::string& model);
/// Throws InvalidArgument unless `model` is a known name or has the extension of a whole model, and for a file with
/// --strategy multi-gpu-model; InputError for a file that does not exist.
void check_model(const std::string& model, const ReplicaOptions& replicas);

struct ModelAndData {
  Model model;
  TrainingData data;
  std::string optimizer_problem{};  ///< why the optimizer in the file cannot be used; empty if it can
};

/// Which part of a saved model's compile configuration a command needs. Unknown metrics are left out, with a warning.
enum class Compiled { not_needed, for_evaluation, for_training };

/// Loss and metrics given by options; they replace those of a saved model or of the zoo.
struct CompileOptions {
  std::string loss{};  ///< name as in Keras; empty: not given
  bool from_logits = false;
  std::vector<std::string> metrics{};

  /// Throws InputError for an unknown name, and for `from_logits` with a loss that does not have that option.
  std::optional<Loss> make_loss() const;
  /// Throws InputError for an unknown name.
  std::optional<std::vector<Metric>> make_metrics() const;
  /// Compiles a zoo model with these, or with the defaults of its kind.
  void compile(Model& model, ModelKind kind, const Optimizer& optimizer) const;
};

/// The label of examples that the loss of a compiled model's first output leaves out, if there is one.
std::optional<std::int64_t> ignored_class(const Model& model);

/// Throws InvalidArgument if a precision is given for a model from a file.
void require_no_precision(const std::string& model, const std::optional<DTypePolicy>& policy);

/// Makes the model, distributed over the replicas, and loads data that suit it. Compiles a model from a file with the
/// parts of the file's configuration that `needed` names; does not compile a zoo model. Throws InputError if a loss is
/// needed and neither the file nor the options have one, InvalidArgument for data that do not suit the model, for a
/// dropout or dtype policy with a model from a file, without a sequence length for a file's model that takes any number
/// of ids, and with one for other models.
ModelAndData make_model_and_data(const std::string& model, ModelSettings settings, const DataOptions& data,
                                 const ReplicaOptions& replicas, const Strategy& strategy, Compiled needed,
                                 const CompileOptions& given);

}  // namespace lockstep::cli
