#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <lockstep/strategy/mirrored/mirrored_strategy.h>

namespace lockstep::cli {

/// What train and bench have in common: which devices the replicas run on, and how.
struct ReplicaOptions {
  int replicas = 0;  ///< 0: not given
  std::vector<std::string> devices{};
  std::string strategy = "mirrored";
  std::string cross_device_ops = "auto";
  std::int64_t timeout_s = 600;

  void add_to(CLI::App& command);
  /// How many replicas there will be.
  int count() const { return static_cast<int>(chosen_devices().size()); }
  /// Throws InvalidArgument for devices that cannot be used, Unsupported for cross-device ops that they do not have.
  MirroredStrategy make_strategy() const;

 private:
  /// Throws as parse_devices and default_devices.
  std::vector<LogicalDevice> chosen_devices() const;
};

/// An option's number must be a whole one of at least `lowest`.
CLI::Validator whole_number_from(std::int64_t lowest);

}  // namespace lockstep::cli
