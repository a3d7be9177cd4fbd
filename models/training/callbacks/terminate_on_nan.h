#pragma once

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Stops training, with a warning, after a step whose loss is not finite.
class TerminateOnNaN final : public Callback {
 public:
  void on_train_batch_end(Model& model, const StepReport& report) override;
};

}  // namespace lockstep
