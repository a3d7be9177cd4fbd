#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/metrics/compiled_output.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/serialization/network_config.h>

// How a model was compiled, in the configuration that Keras' files have of it.

namespace lockstep {

/// What compile() takes.
struct CompileConfig {
  Optimizer optimizer;                  ///< in a file without its state
  std::vector<OutputTraining> outputs;  ///< in the model's order
};

/// Losses and metrics of a program's own, which files only name: those of Keras' custom_objects.
struct CustomObjects {
  std::vector<Loss> losses{};     ///< found by their names
  std::vector<Metric> metrics{};  ///< the same for metrics
};

/// What reading how a model was compiled takes beside the file.
struct CompileReading {
  CustomObjects custom{};  ///< in place of those that the file names
  ///@{
  /// In place of the file's, which are then not read; loss and metrics for every output.
  std::optional<Optimizer> optimizer{};
  std::optional<Loss> loss{};
  std::optional<std::vector<Metric>> metrics{};
  ///@}
  /// Given what is wrong with a metric, which is then left out; without it that is an error.
  std::function<void(const std::string&)> on_unknown_metric{};
};

/// Keras 3's "compile_config", or the "training_config" of a legacy file. A loss or metric of a program's own stands
/// there by its name, as Keras writes functions; in place of a schedule of its own there is the rate of now.
nlohmann::ordered_json compile_config(const CompileConfig& compiled, ConfigForm form);

/// From either, also Keras 2's, of a model with outputs of these names; nothing for a null one and for a model without
/// a loss. Throws InputError for what this project does not have, naming it and what would be right.
std::optional<CompileConfig> read_compile_config(const nlohmann::ordered_json& config,
                                                 const std::vector<std::string>& outputs,
                                                 const CompileReading& reading);

}  // namespace lockstep
