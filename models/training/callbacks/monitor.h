#pragma once

#include <optional>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Whether less or more of a monitored value is better; automatic: as the model's loss or metric of that name says.
enum class MonitorMode { automatic, min, max };

/// The value that a callback goes by, and what it takes to be better.
class Monitor {
 public:
  /// `min_delta`: a change of less is none.
  Monitor(std::string name, MonitorMode mode, double min_delta = 0);

  /// Settles an automatic mode. Throws InvalidArgument when the model's metrics do not tell.
  void resolve(const Model& model);
  /// The monitored one of the logs; nothing, and a warning that names those there are, when it is not there.
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
