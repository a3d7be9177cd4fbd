#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/metrics/compiled_output.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/serialization/network_config.h>

// The compile() arguments of a model, in the form in which Keras' files store them.

namespace lockstep {

/// The arguments of compile().
struct CompileConfig {
  Optimizer optimizer;                  ///< its state is not part of the JSON
  std::vector<OutputTraining> outputs;  ///< losses and metrics, in the order of the model's outputs
};

/// A program's own losses and metrics (Keras' custom_objects). Files contain only their names.
struct CustomObjects {
  std::vector<Loss> losses{};     ///< found by name
  std::vector<Metric> metrics{};  ///< found by name
};

/// Options of read_compile_config.
struct CompileReading {
  CustomObjects custom{};  ///< used for losses and metrics with these names
  ///@{
  /// If given, used instead of the file's optimizer, loss or metrics, which are then not read. Loss and metrics apply
  /// to every output.
  std::optional<Optimizer> optimizer{};
  std::optional<Loss> loss{};
  std::optional<std::vector<Metric>> metrics{};
  ///@}
  /// If set, called with the message for an unknown metric, which is then left out. If not set, an unknown metric
  /// throws InputError.
  std::function<void(const std::string&)> on_unknown_metric{};
};

/// Keras 3's "compile_config", or the "training_config" of a legacy file. Losses and metrics without a config are
/// written by name, as Keras writes functions; a custom learning rate schedule is replaced by its current rate. Throws
/// Unsupported, naming the object, for a class that is neither Keras' nor registered.
nlohmann::ordered_json compile_config(const CompileConfig& compiled, ConfigForm form);

/// Reads both forms, as written by Keras 2 or 3, for a model whose outputs have these names. Returns nothing for a null
/// or empty config. Throws InputError for unsupported options, naming them and the supported ones.
std::optional<CompileConfig> read_compile_config(const nlohmann::ordered_json& config,
                                                 const std::vector<std::string>& outputs,
                                                 const CompileReading& reading);

}  // namespace lockstep
