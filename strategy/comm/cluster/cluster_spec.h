#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// The workers, in TensorFlow's terms, from TF_CONFIG or from MPI.
struct ClusterSpec {
  /// Addresses from TF_CONFIG or host names from MPI, by worker number: the chief, if TF_CONFIG names one, then the
  /// workers.
  std::vector<std::string> addresses{};
  bool has_chief = false;  ///< whether the first entry is a task of type "chief"
  int rank = 0;            ///< this process's number

  /// This process's type: "chief" or "worker".
  std::string task_type() const { return has_chief && rank == 0 ? "chief" : "worker"; }
  /// This process's number among the tasks of its type.
  int task_id() const { return has_chief && rank > 0 ? rank - 1 : rank; }
  /// Number of workers, including the chief.
  int size() const { return static_cast<int>(addresses.size()); }
};

/// Parses a TF_CONFIG. The chief is optional:
/// {"cluster": {"chief": [one address], "worker": [addresses]}, "task": {"type": "worker", "index": 0}}.
/// Throws InvalidArgument for other text, Unsupported for other types of tasks, such as "ps" and "evaluator".
ClusterSpec parse_tf_config(const std::string& text);
/// Parses the environment variable TF_CONFIG. Returns nothing if it is not set, is empty or has no cluster. Throws the
/// same errors as parse_tf_config.
std::optional<ClusterSpec> tf_config();

}  // namespace lockstep
