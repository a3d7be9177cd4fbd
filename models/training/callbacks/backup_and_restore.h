#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// BackupAndRestore's options, with Keras' names and defaults.
struct BackupAndRestoreOptions {
  std::optional<std::int64_t> save_freq{};  ///< saves after every N steps; by default after each epoch
  /// Deletes the backup when training ends with a whole epoch, unless Model::interrupt_training has ended it.
  bool delete_checkpoint = true;
  /// Also saves when training is stopped within an epoch, or between epochs by Model::interrupt_training, e.g. for
  /// Ctrl-C. Saves nothing from on_epoch_begin to the epoch's first step; with save_freq, the resumed run then repeats
  /// the steps since the last backup.
  bool save_when_stopped = false;
};

/// Keeps a backup of the run in a folder. If the same program runs again after it was killed or stopped, it resumes
/// from the backup, and its results are bit-identical to the results of an uninterrupted run. The backup has the
/// weights (of each replica where they differ), the optimizer's state, the state of the random number generators, the
/// callbacks' states, the position in the data and the history. It has neither gradients accumulated for the next
/// update nor the states of `stateful` layers; results of runs that use these can differ. It is written completely or
/// not at all, after on_train_batch_end or on_epoch_end of all callbacks. A run may resume with another number of
/// replicas, but results are then not bit-identical.
class BackupAndRestore final : public Callback {
 public:
  /// Creates `backup_dir` when needed; no other run may use it. Throws InvalidArgument for an empty `backup_dir` and
  /// for a save_freq below 1.
  explicit BackupAndRestore(std::string backup_dir, const BackupAndRestoreOptions& options = {});

  /// Resumes from the folder's backup, if there is one. Throws the errors of BackupFolder::read; the model is then
  /// unchanged.
  void restore(Model& model, TrainingProgress& progress) override;
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  /// Throws the errors of BackupFolder::write.
  void backup(Model& model, const TrainingProgress& progress) override;
  /// Saves if save_when_stopped is set. Throws the same errors as backup.
  void on_stop(Model& model, const TrainingProgress& progress) override;
  void on_train_end(Model& model) override;

 private:
  std::string backup_dir_;
  BackupAndRestoreOptions options_;
  std::int64_t steps_since_save_ = 0;
  bool within_epoch_ = false;  ///< whether the run is within an epoch
  /// Whether the run has progressed since the last backup. Not from on_epoch_begin to the first step, since callbacks
  /// have then begun the epoch, which the resumed run does again.
  bool can_save_ = false;
  bool is_interrupted_ = false;  ///< whether Model::interrupt_training has ended the run
};

}  // namespace lockstep
