#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// CSVLogger's options, with Keras' names and defaults.
struct CSVLoggerOptions {
  /// Character between columns.
  char separator = ',';
  bool append = false;  ///< true: appends to an existing file; false: replaces it, unless the run resumes
};

/// Writes a line to a file at the end of each epoch: "epoch", from 0, and the logged values. An existing file keeps its
/// columns. In a new file, the columns are the values of the first epoch and of its validation (even if validation_freq
/// skips that validation), sorted by name. NA stands for a value that an epoch lacks. A run that resumes from a backup
/// keeps the lines of earlier epochs.
class CSVLogger final : public Callback {
 public:
  /// Opens `filename` when training begins.
  explicit CSVLogger(std::string filename, const CSVLoggerOptions& options = {})
      : filename_(std::move(filename)), options_(options) {}

  bool chief_only() const override { return true; }
  ///@{
  /// Throws InputError naming the file if it cannot be written, or if its header has a quotation mark without end.
  void on_train_begin(Model& model) override;
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  ///@}
  void on_train_end(Model& model) override;

 private:
  void open(std::ios::openmode mode);
  /// Reads the columns of the file; an empty file has none. A name in quotation marks can contain line breaks.
  void read_header();
  void write_header(const Logs& logs);

  std::string filename_;
  CSVLoggerOptions options_;
  std::ofstream file_{};
  bool begun_ = false;       ///< whether the first epoch has begun
  bool validation_ = false;  ///< see EpochPlan::validation
  std::vector<std::string> columns_{};
};

}  // namespace lockstep
