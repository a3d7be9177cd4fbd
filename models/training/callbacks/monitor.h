#pragma once

#include <optional>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Whether a lower or a higher monitored value is better; automatic: lower is better for losses, and each metric
/// defines its own direction.
enum class MonitorMode { automatic, min, max };

/// Finds the value that a callback monitors in the logs, and compares it with earlier values.
class Monitor {
 public:
  /// `min_delta`: only larger changes count as improvements; its sign is ignored.
  Monitor(std::string name, MonitorMode mode, double min_delta = 0);

  /// Replaces an automatic mode by min or max. Throws InvalidArgument if the mode is automatic and the model does not
  /// have the value or defines no direction for it.
  void resolve(const Model& model);
  /// The monitored value in the logs. If it is missing, returns nothing and logs a warning with the names in the logs.
  std::optional<double> value_in(const Logs& logs) const;
  /// Whether `value` is better than `reference` by more than min_delta; true if there is no reference.
  bool is_improvement(double value, std::optional<double> reference) const;
  /// The name of the value in the logs.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  MonitorMode mode_;
  double min_delta_;
};

}  // namespace lockstep
