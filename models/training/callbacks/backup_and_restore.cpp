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
}

void BackupAndRestore::backup(Model& model, const TrainingProgress& progress) {
  within_epoch_ = progress.steps_in_epoch > 0;
  if (options_.save_freq ? !within_epoch_ || ++steps_since_save_ < *options_.save_freq : within_epoch_) return;
  steps_since_save_ = 0;
  BackupFolder(backup_dir_).write(model, progress);
}

void BackupAndRestore::on_stop(Model& model, const TrainingProgress& progress) {
  if (options_.save_when_stopped && within_epoch_) BackupFolder(backup_dir_).write(model, progress);
}

void BackupAndRestore::on_train_end(Model& model) {
  if (model.strategy().is_chief() && options_.delete_checkpoint && !within_epoch_) BackupFolder(backup_dir_).remove();
}

}  // namespace lockstep
