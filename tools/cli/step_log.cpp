#include "step_log.h"

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include <lockstep/models/training/callbacks/log_lines.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::cli {
namespace {

/// The step that a line of the log belongs to; -1 if it names none.
std::int64_t step_of(std::string_view line) {
  const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const bool has_step = object.is_object() && object.contains("step") && object["step"].is_number_integer();
  return has_step ? object["step"].get<std::int64_t>() : -1;
}

}  // namespace

void StepLog::on_train_begin(Model&) {
  open(std::ios::app);  // appends, because it is not known yet whether the run resumes and keeps the file
}

void StepLog::open(std::ios::openmode mode) {
  file_ = std::ofstream(path_, mode);
  require<InputError>(file_.good(), "--step-log {}: cannot be written: {}", path_, std::strerror(errno));
}

void StepLog::on_epoch_begin(Model&, const EpochPlan& plan) {
  if (begun_) return;
  begun_ = true;
  if (plan.resumed)
    drop_last_lines(path_, [&](std::string_view line) { return step_of(line) >= plan.first_step; });
  else
    open(std::ios::trunc);
}

void StepLog::on_train_batch_end(Model&, const StepReport& report) {
  const auto ms = [&](Phase phase) { return report.split_ms[static_cast<std::size_t>(phase)]; };
  const nlohmann::ordered_json line{{"step", report.step},
                                    {"loss", report.loss},
                                    {"learning_rate", report.learning_rate},
                                    {"examples", report.examples},
                                    {"rows", report.rows},
                                    {"step_ms", report.step_ms},
                                    {"input_ms", ms(Phase::input)},
                                    {"compute_ms", ms(Phase::compute)},
                                    {"reduce_ms", ms(Phase::reduce)},
                                    {"update_ms", ms(Phase::update)}};
  file_ << line.dump() << '\n' << std::flush;
  require<InputError>(file_.good(), "--step-log {}: cannot be written: {}", path_, std::strerror(errno));
}

}  // namespace lockstep::cli
