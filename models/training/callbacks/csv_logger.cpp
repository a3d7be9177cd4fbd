#include "lockstep/models/training/callbacks/csv_logger.h"

#include <charconv>
#include <filesystem>
#include <string_view>

#include <lockstep/models/training/callbacks/log_lines.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// The text as a field (RFC 4180): in quotes where it would end otherwise.
std::string quoted(const std::string& text, char separator) {
  if (text.find_first_of(std::string{separator, '"', '\n', '\r'}) == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

/// The texts of a line's fields.
std::vector<std::string> fields_of(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_quote = line[i] == '"';
    if (is_quote && in_quotes && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (is_quote)
      in_quotes = !in_quotes;
    else if (line[i] == separator && !in_quotes)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

}  // namespace

void CSVLogger::on_train_begin(Model&) {
  begun_ = false;
  open(std::ios::app);  // whether the run resumes, and the file is kept, is not known yet
}

void CSVLogger::open(std::ios::openmode mode) {
  file_ = std::ofstream(filename_, mode);
  require<InputError>(file_.good(), "{}: cannot be written", filename_);
}

void CSVLogger::on_epoch_begin(Model&, const EpochPlan& plan) {
  if (begun_) return;
  begun_ = true;
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
  if (!std::filesystem::is_regular_file(filename_)) return;  // a device may never end
  std::string header;
  std::ifstream file(filename_);
  std::getline(file, header);
  columns_ = fields_of(header, options_.separator);
  columns_.erase(columns_.begin());  // "epoch"
}

void CSVLogger::write_header(const Logs& logs) {
  file_ << "epoch";
  for (const auto& [name, value] : logs) {
    columns_.push_back(name);
    file_ << options_.separator << quoted(name, options_.separator);
  }
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
