#pragma once

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Ends training after the step in hand when the user presses Ctrl-C, or who started the process wants it to end. While
/// it lives, SIGINT and SIGTERM only set a flag; a second Ctrl-C ends the program at once.
class InterruptCallback final : public Callback {
 public:
  InterruptCallback();
  ~InterruptCallback() override;
  void on_step_end(Model& model, const StepReport& report) override;
  static bool interrupted() { return exit_code() != 0; }
  /// What a program says that a signal has ended: 128 and the signal's number. 0 where none came.
  static int exit_code();
};

}  // namespace lockstep::cli
