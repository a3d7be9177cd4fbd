#include "lockstep/models/training/callbacks/terminate_on_nan.h"

#include <cmath>

#include <lockstep/models/training/model.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep {

void TerminateOnNaN::on_train_batch_end(Model& model, const StepReport& report) {
  if (std::isfinite(report.loss)) return;
  log_warning("the loss of step {} is {}: training ends", report.step, report.loss);
  model.stop_training();
}

}  // namespace lockstep
