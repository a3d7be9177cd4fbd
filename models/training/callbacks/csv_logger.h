#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Keras' options, names and defaults.
struct CSVLoggerOptions {
  /// Between columns.
  char separator = ',';
  bool append = false;  ///< to an existing file; else the file is replaced, unless the run resumes
};

/// Writes a line to a file at each epoch's end: "epoch", from 0, and the values by name, in
/// the order of the names. The columns are the first epoch's values, or those that the file has already; NA stands for
/// one that a later epoch lacks. A run that resumes from a backup keeps the lines of the epochs before.
class CSVLogger final : public Callback {
 public:
  /// `filename` is opened when training begins.
  explicit CSVLogger(std::string filename, const CSVLoggerOptions& options = {})
      : filename_(std::move(filename)), options_(options) {}

  bool chief_only() const override { return true; }
  /// These throw InputError when the file cannot be written.
  void on_train_begin(Model& model) override;
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_train_end(Model& model) override;

 private:
  void open(std::ios::openmode mode);
  /// The columns that the file has; none of an empty one.
  void read_header();
  void write_header(const Logs& logs);

  std::string filename_;
  CSVLoggerOptions options_;
  std::ofstream file_{};
  bool begun_ = false;  ///< the first epoch
  std::vector<std::string> columns_{};
};

}  // namespace lockstep
