#pragma once

#include <optional>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Whether less or more of a monitored value is better; automatic: as the model's loss or metric of that name says.
enum class MonitorMode { automatic, min, max };

/// The value that a callback monitors, and how values compare.
class Monitor {
 public:
  /// `min_delta`: a smaller change does not count.
  Monitor(std::string name, MonitorMode mode, double min_delta = 0);

  /// Settles an automatic mode. Throws InvalidArgument when the model's metrics do not say it.
  void resolve(const Model& model);
  /// The monitored value of the logs; when it is missing, nothing, and a warning that lists the values.
  std::optional<double> value_in(const Logs& logs) const;
  /// Whether `value` is better than `reference`, or there is none.
  bool is_improvement(double value, std::optional<double> reference) const;
  /// Of the value in the logs.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  MonitorMode mode_;
  double min_delta_;
};

}  // namespace lockstep
