#pragma once

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Ends training after the step in hand when the user presses Ctrl-C. While it lives, SIGINT only sets a flag; a second
/// one ends the program at once.
class InterruptCallback final : public Callback {
 public:
  InterruptCallback();
  ~InterruptCallback() override;
  void on_step_end(Model& model, const StepReport& report) override;
  static bool interrupted();
};

}  // namespace lockstep::cli
