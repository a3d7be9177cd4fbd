#include "lockstep/models/training/callbacks/csv_logger.h"

#include <filesystem>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

void CSVLogger::on_train_begin(Model&) {
  std::error_code no_file;
  const std::uintmax_t size = std::filesystem::file_size(filename_, no_file);
  has_header_ = options_.append && !no_file && size > 0;
  columns_.clear();
  file_ = std::ofstream(filename_, options_.append ? std::ios::app : std::ios::trunc);
  require<InputError>(file_.good(), "{}: cannot be written", filename_);
}

void CSVLogger::write_header(const Logs& logs) {
  for (const auto& [name, value] : logs) columns_.push_back(name);
  if (has_header_) return;
  file_ << "epoch";
  for (const std::string& column : columns_) file_ << options_.separator << column;
  file_ << '\n';
}

void CSVLogger::on_epoch_end(Model&, int epoch, const Logs& logs) {
  if (columns_.empty()) write_header(logs);
  file_ << epoch;
  for (const std::string& column : columns_) {
    const auto found = logs.find(column);
    file_ << options_.separator << (found == logs.end() ? "NA" : fmt::format("{}", found->second));
  }
  file_ << '\n' << std::flush;
  require<InputError>(file_.good(), "{}: cannot be written", filename_);
}

void CSVLogger::on_train_end(Model&) { file_.close(); }

}  // namespace lockstep
