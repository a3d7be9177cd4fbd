#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Whether the option `verbose` of fit, evaluate and predict asks for a ProgbarLogger. Throws InvalidArgument unless it
/// is 0, 1 or 2.
bool shows_progress(int verbose);

/// Shows the progress of fit, or of evaluate or predict, on standard error. On a terminal, redraws a bar during an
/// epoch and replaces it at the end by the epoch's values, in lines that fit the terminal. Elsewhere, prints a line at
/// the end of each epoch and, at most every 15 seconds, after a step. With verbose 2, as in Keras, prints only a line
/// at the end of each epoch, also on a terminal.
class ProgbarLogger final : public Callback {
 public:
  /// Shows `title`, if it is not empty, in place of the number of the epoch. Throws InvalidArgument for a `verbose`
  /// other than 1 and 2.
  explicit ProgbarLogger(std::string title = {}, int verbose = 1);
  ~ProgbarLogger() override;

  bool chief_only() const override { return true; }
  ///@{
  /// Steps and ends of epochs show the speed, the losses and the metrics. The end of an epoch also shows the time
  /// taken. A bar also shows the time left if the number of steps is known.
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  void on_train_batch_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_stop(Model& model, const TrainingProgress& progress) override;
  ///@}
  /// Same as on_train_batch_end, for step `step` of the epoch. Calls running(), which returns the values so far, only
  /// to show them.
  void show_step(std::int64_t step, std::int64_t examples, const std::function<Logs()>& running);

 private:
  class Display;
  class Bar;
  class Lines;
  struct Epoch;  ///< the current epoch

  static std::string stop_text(const Epoch& epoch, std::int64_t steps);

  std::unique_ptr<Display> display_;
  std::string title_;
  std::unique_ptr<Epoch> epoch_;
};

}  // namespace lockstep
