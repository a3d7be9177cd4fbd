#pragma once

#include <chrono>
#include <vector>

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Keeps what the reports after training need.
class RunRecord final : public Callback {
 public:
  void on_step_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_stop(Model& model, const TrainingProgress& progress) override;

  const std::vector<StepReport>& steps() const { return steps_; }
  /// Number of steps done by the end of each epoch.
  const std::vector<std::size_t>& epoch_ends() const { return epoch_ends_; }
  /// From the start of the process to the end of its first training step.
  double time_to_first_step_s() const { return time_to_first_step_s_; }

 private:
  /// Once, also for an epoch that is stopped first.
  void end_epoch();

  std::vector<StepReport> steps_;
  std::vector<std::size_t> epoch_ends_;
  double time_to_first_step_s_ = 0;
};

/// Seconds since this process was started.
double process_age_s();
/// Largest resident memory of this process so far, in MiB.
double peak_memory_mb();

}  // namespace lockstep::cli
