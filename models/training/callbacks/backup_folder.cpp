#include "lockstep/models/training/callbacks/backup_folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>

#include <fmt/ranges.h>

#include <lockstep/models/files/json_text.h>
#include <lockstep/models/training/saved_state.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {
namespace {

using Json = nlohmann::json;

std::string callback_name(std::size_t callback, std::size_t i) { return fmt::format("callbacks/{}/{}", callback, i); }

std::vector<Callback*> callbacks_with_state(const TrainingProgress& progress) {
  std::vector<Callback*> callbacks;
  for (const auto& callback : progress.callbacks)
    if (!callback->state().empty()) callbacks.push_back(callback.get());
  return callbacks;
}

std::vector<std::string> metric_names(const Model& model) {
  std::vector<std::string> names;
  for (const Metric& metric : model.metrics()) names.push_back(metric.name());
  return names;
}

/// Everything about the progress that is not a tensor.
Json metadata_of(const TrainingProgress& progress) {
  Json metrics = Json::array();
  for (const auto& output : progress.totals.metrics) {
    Json& of_output = metrics.emplace_back(Json::array());
    for (const Metric::Sums& sums : output) of_output.push_back(to_json(sums));
  }
  Json values = Json::object();
  for (const auto& [name, by_epoch] : progress.history.values) values[name] = to_json(by_epoch);
  Json callbacks = Json::array();
  for (const Callback* callback : callbacks_with_state(progress)) {
    const CallbackState state = callback->state();
    Json numbers = Json::object();
    for (const auto& [name, value] : state.values) numbers[name] = to_json(value);
    callbacks.push_back({{"values", numbers}, {"tensors", state.tensors.size()}});
  }
  return {{"epoch", progress.epoch},
          {"steps", progress.steps},
          {"steps_in_epoch", progress.steps_in_epoch},
          {"pass", progress.position.pass},
          {"batches", progress.position.batches},
          {"examples", progress.totals.examples},
          {"loss", to_json(progress.totals.loss)},
          {"losses", to_json(progress.totals.losses)},
          {"metrics", metrics},
          {"names", progress.totals.names ? Json(*progress.totals.names) : Json()},
          {"history", {{"epoch", progress.history.epoch}, {"values", values}}},
          {"callbacks", callbacks}};
}

/// The checked contents of a backup. Everything is read before anything is set.
class Contents {
 public:
  Contents(const Json& json, const hdf5::Reader& file, const Model& model, const TrainingProgress& progress)
      : file_(file),
        callbacks_(callbacks_with_state(progress)),
        model_(file, "", json, model),
        optimizer_(file, "", json.at("optimizer")) {
    read_callbacks(json.at("callbacks"));
    read_progress(json, model, progress);
  }

  /// Sets everything, or nothing if a callback or the optimizer refuses its state.
  void set(const Model& model, TrainingProgress& progress) const {
    std::vector<CallbackState> before;
    for (const Callback* callback : callbacks_) before.push_back(callback->state());
    try {
      load_callbacks(states_);
      optimizer_.set(model.optimizer());
    } catch (...) {
      load_callbacks(before);
      throw;
    }
    model_.set();
    progress = progress_;
  }

 private:
  void load_callbacks(const std::vector<CallbackState>& states) const {
    for (std::size_t i = 0; i < callbacks_.size(); ++i) try {
        callbacks_[i]->load_state(states[i]);
      } catch (const std::out_of_range&) {
        fail<InputError>(
            "{}: has the state of another callback for number {} of those with a state: resume with the callbacks of "
            "the run that wrote it, in their order",
            file_.path(), i + 1);
      }
  }

  void read_callbacks(const Json& json) {
    check_saved_count(file_, json.size(), callbacks_.size(), "callbacks that have a state");
    for (std::size_t callback = 0; callback < json.size(); ++callback) {
      states_.emplace_back();
      for (const auto& [name, value] : json[callback].at("values").items())
        states_.back().values[name] = to_number(value);
      for (std::size_t i = 0; i < json[callback].at("tensors").get<std::size_t>(); ++i)
        states_.back().tensors.push_back(read_tensor(file_, callback_name(callback, i)));
    }
  }

  void read_progress(const Json& json, const Model& model, const TrainingProgress& now) {
    progress_ = {.epoch = json.at("epoch").get<int>(),
                 .steps = json.at("steps").get<std::int64_t>(),
                 .steps_in_epoch = json.at("steps_in_epoch").get<std::int64_t>(),
                 .position = {json.at("pass").get<std::uint64_t>(), json.at("batches").get<std::int64_t>()},
                 .callbacks = now.callbacks};
    progress_.totals.examples = json.at("examples").get<std::int64_t>();
    progress_.totals.loss = to_number(json.at("loss"));
    progress_.totals.losses = to_numbers(json.at("losses"));
    std::size_t kept_metrics = 0;
    for (const Json& output : json.at("metrics")) {
      auto& metrics = progress_.totals.metrics.emplace_back();
      for (const Json& sums : output) metrics.push_back(to_numbers(sums));
      kept_metrics += metrics.size();
    }
    const Json names = json.value("names", Json());
    if (!names.is_null()) progress_.totals.names = names.get<std::vector<std::string>>();
    const bool has_train_step = model.compiled_steps().train_step != nullptr;
    if (progress_.totals.examples > 0) {
      require<InputError>(names.is_null() != has_train_step, "{}: belongs to a run {} a train_step, this one is {} one",
                          file_.path(), has_train_step ? "without" : "with", has_train_step ? "with" : "without");
      check_saved_count(file_, kept_metrics, has_train_step ? names.size() : model.metrics().size(), "metrics");
      const std::vector<std::string> own = metric_names(model);
      const auto saved = json.value("metric_names", own);  // missing in older backups
      require<InputError>(has_train_step || saved == own, "{}: belongs to a run with the metrics {}, this one has {}",
                          file_.path(), fmt::join(saved, ", "), fmt::join(own, ", "));
    }
    progress_.history.epoch = json.at("history").at("epoch").get<std::vector<int>>();
    for (const auto& [name, values] : json.at("history").at("values").items())
      progress_.history.values[name] = to_numbers(values);
  }

  const hdf5::Reader& file_;
  const std::vector<Callback*> callbacks_;
  SavedModel model_;
  SavedOptimizer optimizer_;
  std::vector<CallbackState> states_;
  TrainingProgress progress_;
};

}  // namespace

bool BackupFolder::has_backup() const {
  std::error_code error;  // of a folder that cannot be read, which writing the next backup reports
  return std::filesystem::exists(metadata(), error);
}

void BackupFolder::write(const Model& model, const TrainingProgress& progress) const {
  const OptimizerState optimizer = model.optimizer().state();
  const auto bytes = static_cast<std::size_t>(model.count_params()) * sizeof(float);
  hdf5::Writer file(bytes * (1 + optimizer.slots.size()));
  Json json = metadata_of(progress);
  json["metric_names"] = metric_names(model);
  SavedModel::save(file, "", json, model);
  SavedOptimizer::save(file, "", json["optimizer"], optimizer);
  const std::vector<Callback*> callbacks = callbacks_with_state(progress);
  for (std::size_t callback = 0; callback < callbacks.size(); ++callback) {
    const CallbackState state = callbacks[callback]->state();
    for (std::size_t i = 0; i < state.tensors.size(); ++i)
      file.add_dataset(callback_name(callback, i), state.tensors[i].to_vector<float>(), state.tensors[i].shape());
  }

  const std::string name = fmt::format("state-{}-{}.h5", progress.epoch, progress.steps);
  json["state"] = name;
  if (!model.strategy().is_chief()) return;  // all workers are needed to read the variables

  make_folder_of(metadata().string());
  remove_unfinished_files(path_);
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path_ / name, ignored);
  file.write_to((path_ / name).string());
  const std::string text = json_text(json, 2) + "\n";
  try {
    write_file_atomically(metadata().string(), std::as_bytes(std::span(text)));
  } catch (const InputError&) {
    if (is_new) std::filesystem::remove(path_ / name, ignored);  // no metadata refers to the file
    throw;
  }
  remove_states(name);
}

void BackupFolder::read(Model& model, TrainingProgress& progress) const {
  const std::string text = read_metadata();
  if (Cluster* const workers = model.strategy().state()->cluster())
    workers->agree(saved_state_place,
                   fmt::format("{} has to be one folder for all workers; what they see in it is", path_.string()),
                   text.empty() ? "nothing" : fmt::format("a backup of hash {:x}", std::hash<std::string>()(text)));
  if (!has_backup()) return;
  try {
    const Json json = Json::parse(text);
    const hdf5::Reader file((path_ / json.at("state").get<std::string>()).string());
    Contents(json, file, model, progress).set(model, progress);
  } catch (const nlohmann::json::exception& error) {
    fail<InputError>("{}: is no backup of a run: {}", metadata().string(), error.what());
  }
}

std::string BackupFolder::read_metadata() const {
  std::ifstream file(metadata());
  const int reason = errno;
  require<InputError>(file.is_open() || !has_backup(), "{}: cannot be read: {}", metadata().string(),
                      std::strerror(reason));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void BackupFolder::remove() const {
  std::error_code ignored;
  remove_unfinished_files(path_);
  std::filesystem::remove(metadata(), ignored);
  remove_states("");
  std::filesystem::remove(path_, ignored);  // fails if the folder is not empty
}

void BackupFolder::remove_states(const std::string& kept) const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("state-") && name.ends_with(".h5") && name != kept)
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace lockstep
