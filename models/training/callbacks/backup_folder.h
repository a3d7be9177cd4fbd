#pragma once

#include <filesystem>
#include <string>

#include <lockstep/models/training/model.h>
#include <lockstep/models/training/training_progress.h>

namespace lockstep {

/// A folder with the backup of a run: tensors in "state-<steps>.h5", all else in "training_metadata.json", which names
/// that file and is written after it: what it names is whole.
class BackupFolder {
 public:
  /// Touches no file.
  explicit BackupFolder(std::filesystem::path path) : path_(std::move(path)) {}

  // With several workers all of them call these together.

  /// Makes the folder as needed, and removes the backup before; the chief does. Throws InputError naming what cannot be
  /// written.
  void write(const Model& model, const TrainingProgress& progress) const;
  /// Sets both to what the backup says; does nothing when there is none. Where it was made by another number of
  /// replicas, values that each replica has of its own start from the old ones' mean. Throws InputError naming the file
  /// and what does not fit, before anything is set, and InvalidArgument on all workers unless they see one folder.
  void read(Model& model, TrainingProgress& progress) const;
  /// Removes the backup, and the folder if nothing else is in it.
  void remove() const;

 private:
  std::filesystem::path metadata() const { return path_ / "training_metadata.json"; }
  /// Its text; empty when there is none.
  std::string read_metadata() const;
  /// Removes what runs that were killed while they wrote have left.
  void remove_leftovers() const;
  /// Removes the files of tensors except `kept`.
  void remove_states(const std::string& kept) const;

  std::filesystem::path path_;
};

}  // namespace lockstep
