#include "step_log.h"

#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/error.h>

namespace lockstep::cli {

StepLog::StepLog(const std::string& path) : path_(path), file_(path, std::ios::trunc) {
  require<InputError>(file_.good(), "--step-log {}: cannot be written", path);
}

void StepLog::on_step_end(Model&, const StepReport& report) {
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
  require<InputError>(file_.good(), "--step-log {}: writing failed, is the disk full?", path_);
}

}  // namespace lockstep::cli
