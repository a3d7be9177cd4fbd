#pragma once

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Ends training after the current step on Ctrl-C (SIGINT) or SIGTERM. During its lifetime the signals only set a flag;
/// a second Ctrl-C ends the program at once.
class InterruptCallback final : public Callback {
 public:
  InterruptCallback();
  ~InterruptCallback() override;
  void on_train_batch_end(Model& model, const StepReport& report) override;
  static bool interrupted() { return exit_code() != 0; }
  /// 128 + the number of the received signal; 0 if none was received.
  static int exit_code();
};

}  // namespace lockstep::cli
