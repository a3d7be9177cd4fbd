#include "lockstep/models/training/callbacks/tensorboard.h"

#include <string_view>

#include <lockstep/models/serialization/event_file.h>
#include <lockstep/models/training/model.h>

namespace lockstep {
namespace {

constexpr std::string_view validation_prefix = "val_";

/// `file` is null on workers other than the chief. They only take part in reading the variables.
void add_histograms(EventFile* file, const Model& model, int epoch) {
  const std::vector<Variable> variables = model.variables();
  const std::vector<std::string> names = model.network().weight_names();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Tensor value = variables[i].value();
    if (file) file->add_histogram(names[i] + "/histogram", epoch, value.to_vector<float>());
  }
}

}  // namespace

TensorBoard::TensorBoard(const TensorBoardOptions& options) : options_(options) {
  require(options.histogram_freq >= 0 && options.update_freq >= 0,
          "TensorBoard's histogram_freq and update_freq must not be negative, got {} and {}", options.histogram_freq,
          options.update_freq);
}

TensorBoard::~TensorBoard() = default;

void TensorBoard::on_train_begin(Model& model) {
  if (!model.strategy().is_chief()) return;
  train_ = std::make_unique<EventFile>(options_.log_dir + "/train");
  if (options_.write_graph) train_->add_graph(model.network());
  train_->flush();
}

void TensorBoard::on_train_batch_end(Model&, const StepReport& report) {
  if (!train_ || options_.update_freq == 0 || report.step % options_.update_freq != 0) return;
  for (const auto& [name, value] : report.running) train_->add_scalar("batch_" + name, report.step, value);
  train_->add_scalar("batch_learning_rate", report.step, report.learning_rate);
}

void TensorBoard::on_epoch_end(Model& model, int epoch, const Logs& logs) {
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) add_histograms(train_.get(), model, epoch);
  if (!train_) return;
  for (const auto& [name, value] : logs) {
    if (!name.starts_with(validation_prefix)) {
      train_->add_scalar("epoch_" + name, epoch, value);
      continue;
    }
    if (!validation_) validation_ = std::make_unique<EventFile>(options_.log_dir + "/validation");
    validation_->add_scalar("epoch_" + name.substr(validation_prefix.size()), epoch, value);
  }
  train_->flush();
  if (validation_) validation_->flush();
}

void TensorBoard::on_train_end(Model&) {
  train_.reset();
  validation_.reset();
}

}  // namespace lockstep
