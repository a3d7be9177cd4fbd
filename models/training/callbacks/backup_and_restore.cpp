#include "lockstep/models/training/callbacks/backup_and_restore.h"

#include <lockstep/models/training/callbacks/backup_folder.h>

namespace lockstep {

BackupAndRestore::BackupAndRestore(std::string backup_dir, const BackupAndRestoreOptions& options)
    : backup_dir_(std::move(backup_dir)), options_(options) {
  require(!backup_dir_.empty(), "BackupAndRestore needs a folder");
  require(!options.save_freq || *options.save_freq >= 1, "BackupAndRestore needs a save_freq of at least 1, got {}",
          options.save_freq.value_or(0));
}

void BackupAndRestore::restore(Model& model, TrainingProgress& progress) {
  BackupFolder(backup_dir_).read(model, progress);
  within_epoch_ = progress.steps_in_epoch > 0;
  steps_since_save_ = 0;
  can_save_ = false;
  is_interrupted_ = false;
}

void BackupAndRestore::on_epoch_begin(Model&, const EpochPlan&) { can_save_ = false; }

/// Called after on_stop unless the run was interrupted.
void BackupAndRestore::on_epoch_end(Model&, int, const Logs&) { is_interrupted_ = false; }

void BackupAndRestore::backup(Model& model, const TrainingProgress& progress) {
  within_epoch_ = progress.steps_in_epoch > 0;
  can_save_ = true;
  if (options_.save_freq ? !within_epoch_ || ++steps_since_save_ < *options_.save_freq : within_epoch_) return;
  steps_since_save_ = 0;
  BackupFolder(backup_dir_).write(model, progress);
  can_save_ = false;
}

void BackupAndRestore::on_stop(Model& model, const TrainingProgress& progress) {
  is_interrupted_ = true;
  if (options_.save_when_stopped && can_save_) BackupFolder(backup_dir_).write(model, progress);
}

void BackupAndRestore::on_train_end(Model& model) {
  const bool is_complete = !within_epoch_ && !is_interrupted_;
  if (model.strategy().is_chief() && options_.delete_checkpoint && is_complete) BackupFolder(backup_dir_).remove();
}

}  // namespace lockstep
