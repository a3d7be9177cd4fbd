#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Keras' options, names and defaults.
struct BackupAndRestoreOptions {
  std::optional<std::int64_t> save_freq{};  ///< saves after every N steps; by default after each epoch
  bool delete_checkpoint = true;            ///< at the end of training
  /// Also when training is stopped within an epoch, for example by Ctrl-C, so that no step is lost.
  bool save_when_stopped = false;
};

/// Keeps a backup of the run in a folder. The same program, run again after it was killed or stopped, resumes from it
/// and reaches the same bits as an uninterrupted run: weights (of each replica where they differ), optimizer, random
/// numbers, callbacks, the position in the data, and the history. Gradients accumulated for a pending update are not
/// kept. A backup is written whole or not at all, after every other callback. With another number of replicas the run
/// resumes, but not to the same bits.
class BackupAndRestore final : public Callback {
 public:
  /// `backup_dir` is made as needed, and is for this run alone. Throws InvalidArgument for an empty one, or a save_freq
  /// below 1.
  explicit BackupAndRestore(std::string backup_dir, const BackupAndRestoreOptions& options = {});

  /// Resumes from the folder's backup, if there is one. Throws InputError when that is damaged or another program's,
  /// and leaves the model unchanged.
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
  bool within_epoch_ = false;  ///< the run is in the middle of one
};

}  // namespace lockstep
