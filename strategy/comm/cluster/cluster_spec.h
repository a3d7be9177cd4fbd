#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Who the workers are, in TensorFlow's words: what TF_CONFIG says, or what MPI knows.
struct ClusterSpec {
  /// By number: of a chief, where TF_CONFIG names one, and then of the workers. Addresses, or host names from MPI.
  std::vector<std::string> addresses{};
  bool has_chief = false;  ///< whether the first one is a task "chief" rather than worker 0
  int rank = 0;            ///< this process's number

  /// "chief" or "worker".
  std::string task_type() const { return has_chief && rank == 0 ? "chief" : "worker"; }
  /// Its number among those of its type.
  int task_id() const { return has_chief && rank > 0 ? rank - 1 : rank; }
  /// How many there are.
  int size() const { return static_cast<int>(addresses.size()); }
};

/// What a TF_CONFIG means: {"cluster": {"chief": [one address], "worker": [addresses]}, "task": {"type": "worker",
/// "index": 0}}, the chief being optional. Throws InvalidArgument for text that is not that, Unsupported for the tasks
/// "ps" and "evaluator".
ClusterSpec parse_tf_config(const std::string& text);
/// That of the environment's variable TF_CONFIG; nothing when it is not set, or names no cluster.
std::optional<ClusterSpec> tf_config();

}  // namespace lockstep
