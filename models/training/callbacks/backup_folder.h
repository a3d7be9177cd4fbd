#pragma once

#include <filesystem>
#include <string>

#include <lockstep/models/training/model.h>
#include <lockstep/models/training/training_progress.h>

namespace lockstep {

/// A folder with the backup of a run. Tensors are in "state-<epoch>-<steps>.h5", everything else is in
/// "training_metadata.json". The metadata file names the file of the tensors and is written after it, so the file that
/// it names is always complete.
class BackupFolder {
 public:
  /// Does not access the folder.
  explicit BackupFolder(std::filesystem::path path) : path_(std::move(path)) {}

  /// Whether the folder has a backup. False if a run was killed while it wrote its first one.
  bool has_backup() const;

  // With several workers, all of them must call write and read; the chief calls remove.

  /// Writes a backup and then removes the previous one. Only the chief writes; it creates the folder when needed.
  /// Throws InputError, naming the file or folder, if it cannot be written. Throws InvalidArgument for a variable that
  /// is not f32 and for a name that is not UTF-8.
  void write(const Model& model, const TrainingProgress& progress) const;
  /// Restores the model, its optimizer, the progress and the states of `progress.callbacks` from the backup; if it
  /// throws, they are unchanged. Does nothing if there is no backup. If the backup is from another number of replicas,
  /// every copy of a variable gets the value that the variable had outside replicas. Throws InputError, which names the
  /// file and the mismatch, if a file cannot be read, is damaged or belongs to another model, or if
  /// Callback::load_state throws std::out_of_range. Throws InvalidArgument on all workers if they do not all read the
  /// same metadata. Other exceptions of Callback::load_state and the errors of Optimizer::load_state pass through. The
  /// slots of an optimizer that has made no step are checked only when it is built, which throws InvalidArgument if
  /// they do not match the optimizer.
  void read(Model& model, TrainingProgress& progress) const;
  /// Removes the backup, and the folder if it is then empty.
  void remove() const;

 private:
  std::filesystem::path metadata() const { return path_ / "training_metadata.json"; }
  /// The text of the metadata file; empty if there is no file. Throws InputError for a file that cannot be read.
  std::string read_metadata() const;
  /// Removes all files of tensors except `kept`.
  void remove_states(const std::string& kept) const;

  std::filesystem::path path_;
};

}  // namespace lockstep
