#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Keras' options, names and defaults.
struct BackupAndRestoreOptions {
  std::optional<std::int64_t> save_freq{};  ///< steps after which to save, each time; if not said, after each epoch
  bool delete_checkpoint = true;            ///< at the end of training
  /// Also when training is stopped within an epoch, as by Ctrl-C: nothing that has been done is lost.
  bool save_when_stopped = false;
};

/// Keeps a backup of the run in a folder, so that the same program, when it was killed or stopped within an epoch and
/// is run again, goes on from there to the very bits that it would have got to: weights (of each replica where they
/// differ), optimizer, random numbers, callbacks, the place in the data, and the history. Only gradients that are
/// accumulated for an update still to come are not kept. A backup is written whole or not at all, after every other
/// callback. It belongs to one number of replicas.
class BackupAndRestore final : public Callback {
 public:
  /// `backup_dir` is made as needed, and is for this run alone. Throws InvalidArgument for an empty one, or a save_freq
  /// below 1.
  explicit BackupAndRestore(std::string backup_dir, const BackupAndRestoreOptions& options = {});

  /// Goes on from the folder's backup, if there is one. Throws InputError when that is damaged or another program's,
  /// and the model is as it was.
  void restore(Model& model, TrainingProgress& progress) override;
  /// Throws InputError when the folder cannot be written.
  void backup(Model& model, const TrainingProgress& progress) override;
  /// As backup.
  void on_stop(Model& model, const TrainingProgress& progress) override;
  void on_train_end(Model& model) override;

 private:
  std::string backup_dir_;
  BackupAndRestoreOptions options_;
  std::int64_t steps_since_save_ = 0;
  bool within_epoch_ = false;  ///< the run has got to the middle of one
};

}  // namespace lockstep
