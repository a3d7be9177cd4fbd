#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Keeps what the reports after training need, also of the run that this one resumes.
class RunRecord final : public Callback {
 public:
  /// Of a run of this --seed.
  explicit RunRecord(std::uint64_t seed) : seed_(seed) {}
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  void on_step_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_stop(Model& model, const TrainingProgress& progress) override;
  CallbackState state() const override;
  /// Throws InvalidArgument where the run to resume has another seed: its data would be in another order.
  void load_state(const CallbackState& state) override;

  /// Of this process.
  const std::vector<StepReport>& steps() const { return steps_; }
  /// Of each step.
  const std::vector<float>& losses() const { return losses_; }
  /// Number of steps done by the end of each epoch.
  const std::vector<float>& epoch_ends() const { return epoch_ends_; }
  /// From the start of the process to the end of its first training step; 0 when it had none.
  double time_to_first_step_s() const { return time_to_first_step_s_; }
  /// Whether this process has done a step.
  bool trained() const { return !steps_.empty(); }
  /// Whether training has resumed from an earlier run's backup.
  bool resumed() const { return resumed_; }

 private:
  /// Once, also for an epoch that is stopped first.
  void end_epoch();

  std::uint64_t seed_;
  std::vector<StepReport> steps_;
  std::vector<float> losses_;
  std::vector<float> epoch_ends_;
  double time_to_first_step_s_ = 0;
  bool resumed_ = false;
};

/// Seconds since this process was started.
double process_age_s();
/// Largest resident memory of this process so far, in MiB.
double peak_memory_mb();

}  // namespace lockstep::cli
