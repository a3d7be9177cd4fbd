#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "model_source.h"

// Options that several commands share.

namespace lockstep::cli {

/// Validates that an option is an integer of at least `lowest` and at most `highest`.
CLI::Validator whole_number_from(std::int64_t lowest, std::int64_t highest = INT64_MAX);
/// Validates that an option is a number, which may be infinite or NaN.
CLI::Validator any_number();
/// Validates that an option's value is not empty.
CLI::Validator not_empty();
/// Validates that an option is one of `names`.
CLI::Validator one_of(std::vector<std::string> names);

/// Adds --replicas and --devices. `by_default` describes, for the help text, the devices used if neither is given.
void add_options(CLI::App& command, DeviceOptions& options, const std::string& by_default);
void add_options(CLI::App& command, ReplicaOptions& options);
/// Adds the data options that training shares with the other commands.
void add_options(CLI::App& command, DataOptions& options);
void add_options(CLI::App& command, CompileOptions& options);
void add_batch_size(CLI::App& command, std::int64_t& batch_size);
/// Adds --precision for models known by name; a saved model stores the dtype policy of each layer itself.
void add_precision_option(CLI::App& command, std::optional<DTypePolicy>& policy);
void add_graphs_option(CLI::App& command, bool& cuda_graphs);
void add_result_option(CLI::App& command, bool& json);

}  // namespace lockstep::cli
