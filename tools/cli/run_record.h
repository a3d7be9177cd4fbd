#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Records the losses and times that are reported after training. If the run resumes an earlier run, the record
/// includes the losses and epoch ends of the earlier run.
class RunRecord final : public Callback {
 public:
  /// `seed` is the run's --seed.
  explicit RunRecord(std::uint64_t seed) : seed_(seed) {}
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  void on_train_batch_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_stop(Model& model, const TrainingProgress& progress) override;
  CallbackState state() const override;
  /// Throws InvalidArgument if the run to resume has another seed, because its data would be in another order.
  void load_state(const CallbackState& state) override;

  /// The steps of this process only.
  const std::vector<StepReport>& steps() const { return steps_; }
  /// The loss of each step, including the steps of an earlier run that this run resumed.
  const std::vector<float>& losses() const { return losses_; }
  /// Number of steps completed by the end of each epoch.
  const std::vector<float>& epoch_ends() const { return epoch_ends_; }
  /// From the start of the process to the end of its first training step; 0 if it did not train.
  double time_to_first_step_s() const { return time_to_first_step_s_; }
  /// Whether this process has completed a step.
  bool trained() const { return !steps_.empty(); }
  /// Whether training resumed from an earlier run's backup.
  bool resumed() const { return resumed_; }

 private:
  /// Records the end of an epoch once, even if the epoch is interrupted.
  void end_epoch();

  std::uint64_t seed_;
  std::vector<StepReport> steps_;
  std::vector<float> losses_;
  std::vector<float> epoch_ends_;
  double time_to_first_step_s_ = 0;
  bool resumed_ = false;
};

/// Seconds since this process started.
double process_age_s();
/// Peak resident memory of this process in MiB.
double peak_memory_mb();

}  // namespace lockstep::cli
