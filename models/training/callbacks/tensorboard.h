#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <lockstep/models/training/callback.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

class EventFile;

/// TensorBoard's options, with Keras' names.
struct TensorBoardOptions {
  std::string log_dir = "logs";  ///< folder for the runs "train" and, with validation data, "validation"
  int histogram_freq = 0;        ///< writes histograms of all weights every N epochs; 0 (default): never
  bool write_graph = true;       ///< writes the graph of the model's layers
  std::int64_t update_freq = 0;  ///< writes a point of the batch_... curves every N steps; 0 (default): never
};

/// Writes event files for `tensorboard --logdir`: curves by epoch (epoch_loss, epoch_accuracy, ..., with the same names
/// in both runs), the graph of the layers and, if the options ask for them, curves by step (batch_loss, ...) and
/// histograms of the weights. With several workers, only the chief writes. A run that resumes from a backup continues
/// its curves.
class TensorBoard final : public Callback {
 public:
  /// Throws InvalidArgument for a negative histogram_freq or update_freq.
  explicit TensorBoard(const TensorBoardOptions& options = {});
  /// Makes `TensorBoard({})` use the default options.
  explicit TensorBoard(Defaults) : TensorBoard() {}
  ~TensorBoard() override;

  ///@{
  /// All but on_train_end throw InputError naming a file that cannot be written.
  void on_train_begin(Model& model) override;
  void on_train_batch_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_train_end(Model& model) override;
  ///@}

 private:
  TensorBoardOptions options_;
  std::unique_ptr<EventFile> train_;
  std::unique_ptr<EventFile> validation_;  ///< null until the first validation value
};

}  // namespace lockstep
