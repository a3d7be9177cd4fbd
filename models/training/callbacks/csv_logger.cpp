#include "lockstep/models/training/callbacks/csv_logger.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>

#include <lockstep/models/files/csv.h>
#include <lockstep/models/metrics/compiled_output.h>
#include <lockstep/models/training/callbacks/log_lines.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
void CSVLogger::on_train_begin(Model&) {
  begun_ = false;
  open(std::ios::app);  // appends, because it is not known yet whether the run resumes and keeps the file
}

void CSVLogger::open(std::ios::openmode mode) {
  file_ = std::ofstream(filename_, mode);
  require<InputError>(file_.good(), "{}: cannot be written: {}", filename_, std::strerror(errno));
}

void CSVLogger::on_epoch_begin(Model&, const EpochPlan& plan) {
  if (begun_) return;
  begun_ = true;
  validation_ = plan.validation;
  if (plan.resumed)
    drop_last_lines(filename_, [&](std::string_view line) {
      int epoch = -1;
      std::from_chars(line.data(), line.data() + line.size(), epoch);
      return epoch >= plan.epoch;
    });
  else if (!options_.append)
    open(std::ios::trunc);
  read_header();
}

void CSVLogger::read_header() {
  columns_.clear();
  if (!std::filesystem::is_regular_file(filename_)) return;  // reading a device might never end
  std::ifstream file(filename_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    columns_ = CsvRecords(text, options_.separator).next_copied();
  } catch (InputError& error) {
    error.add_context(filename_);
    throw;
  }
  if (!columns_.empty()) columns_.erase(columns_.begin());  // "epoch"
}

void CSVLogger::write_header(const Logs& logs) {
  std::set<std::string> names;
  for (const auto& [name, value] : logs) {
    names.insert(name);
    const bool validated =
        std::ranges::find(training_values, name) == training_values.end() && !name.starts_with("val_");
    if (validation_ && validated) names.insert("val_" + name);  // this epoch may not have it, as validation_freq says
  }
  file_ << "epoch";
  for (const std::string& name : names) file_ << options_.separator << csv_field(name, options_.separator);
  file_ << '\n';
  columns_.assign(names.begin(), names.end());
}

void CSVLogger::on_epoch_end(Model&, int epoch, const Logs& logs) {
  if (columns_.empty()) write_header(logs);
  file_ << epoch;
  for (const std::string& column : columns_) {
    const auto found = logs.find(column);
    file_ << options_.separator << (found == logs.end() ? "NA" : fmt::format("{}", found->second));
  }
  file_ << '\n' << std::flush;
  require<InputError>(file_.good(), "{}: cannot be written: {}", filename_, std::strerror(errno));
}

void CSVLogger::on_train_end(Model&) { file_.close(); }

}  // namespace lockstep
