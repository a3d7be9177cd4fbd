#include "lockstep/models/training/callbacks/early_stopping.h"

#include <lockstep/models/training/model.h>

namespace lockstep {

EarlyStopping::EarlyStopping(const EarlyStoppingOptions& options)
    : options_(options), monitor_(options.monitor, options.mode, options.min_delta) {}

void EarlyStopping::on_train_begin(Model& model) {
  monitor_.resolve(model);
  wait_ = 0;
  stopped_epoch_ = 0;
  best_.reset();
  best_weights_.clear();
}

void EarlyStopping::on_epoch_end(Model& model, int epoch, const Logs& logs) {
  const std::optional<double> current = monitor_.value_in(logs);
  if (!current || epoch < options_.start_from_epoch) return;
  const bool improved = monitor_.is_improvement(*current, best_);
  if (options_.restore_best_weights && (improved || best_weights_.empty())) best_weights_ = model.get_weights();
  ++wait_;
  if (improved) {
    best_ = current;
    if (!options_.baseline || monitor_.is_improvement(*current, options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ < options_.patience || epoch == 0) return;
  stopped_epoch_ = epoch;
  model.stop_training();
}

void EarlyStopping::on_train_end(Model& model) {
  if (!best_weights_.empty()) model.set_weights(best_weights_);
}

void EarlyStopping::on_resume(Model& model) {
  if (stopped_epoch_ > 0 && wait_ >= options_.patience) return model.stop_training();
  stopped_epoch_ = 0;
}

CallbackState EarlyStopping::state() const {
  CallbackState state{.values = {{"wait", wait_}, {"stopped_epoch", stopped_epoch_}}, .tensors = best_weights_};
  if (best_) state.values["best"] = *best_;
  return state;
}

void EarlyStopping::load_state(const CallbackState& state) {
  wait_ = static_cast<int>(state.values.at("wait"));
  const auto stopped_epoch = state.values.find("stopped_epoch");  // missing in older backups
  stopped_epoch_ = stopped_epoch == state.values.end() ? 0 : static_cast<int>(stopped_epoch->second);
  const auto best = state.values.find("best");
  best_ = best == state.values.end() ? std::nullopt : std::optional(best->second);
  best_weights_ = state.tensors;
}

}  // namespace lockstep
