#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <lockstep/models/training/callback.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

class EventFile;

/// By Keras' names.
struct TensorBoardOptions {
  std::string log_dir = "logs";  ///< the run "train" is written to this folder, and "validation" when there is one
  int histogram_freq = 0;        ///< epochs from one histogram of all weights to the next; 0: none
  bool write_graph = true;       ///< the model's layers
  std::int64_t update_freq = 0;  ///< steps from one point of the batch_... curves to the next; 0: none
};

/// Writes what `tensorboard --logdir` shows: curves epoch_loss, epoch_accuracy, ... by epoch, those of the validation
/// under the same names, batch_loss, ... by step; the graph of the layers; histograms of the weights. A run that
/// resumes from a backup continues its curves.
class TensorBoard final : public Callback {
 public:
  /// Throws InvalidArgument for negative numbers.
  explicit TensorBoard(const TensorBoardOptions& options = {});
  /// Of all defaults: TensorBoard({}).
  explicit TensorBoard(Defaults) : TensorBoard() {}
  ~TensorBoard() override;

  ///@{
  /// Throw InputError naming the file that cannot be written.
  void on_train_begin(Model& model) override;
  void on_step_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_train_end(Model& model) override;
  ///@}

 private:
  TensorBoardOptions options_;
  std::unique_ptr<EventFile> train_;
  std::unique_ptr<EventFile> validation_;  ///< from the first of its values on
};

}  // namespace lockstep
