#include "lockstep/models/training/callbacks/backup_folder.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>

#include <nlohmann/json.hpp>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/comm/combine.h>

namespace lockstep {
namespace {

using Json = nlohmann::json;

// JSON has no numbers that are not finite; these are stored as text.

Json to_json(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }
double to_number(const Json& json) {
  return json.is_string() ? std::stod(json.get<std::string>()) : json.get<double>();
}

Json to_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(to_json(value));
  return list;
}
std::vector<double> to_numbers(const Json& list) {
  std::vector<double> values;
  for (const Json& value : list) values.push_back(to_number(value));
  return values;
}

/// Names of the tensors in a backup's file.
std::string weight_name(std::size_t variable, std::size_t copy) { return fmt::format("weights/{}/{}", variable, copy); }
std::string slot_name(std::size_t slot, std::size_t variable) { return fmt::format("optimizer/{}/{}", slot, variable); }
std::string callback_name(std::size_t callback, std::size_t i) { return fmt::format("callbacks/{}/{}", callback, i); }

constexpr const char* backup_place = "the backup of a training run";

/// The copies of a variable that a backup stores: one copy if all are equal, or the copies of all workers.
std::vector<Tensor> kept_copies(const Strategy& strategy, const Variable& variable) {
  const std::vector<Tensor>& copies = variable.state().copies();
  if (variable.synchronization() != Synchronization::on_read) return {copies.front()};
  Cluster* const workers = strategy.state()->cluster();
  if (!workers) return copies;
  std::vector<Tensor> all(static_cast<std::size_t>(strategy.num_replicas_in_sync()));
  for (std::size_t own = 0; own < copies.size(); ++own) {
    const auto elements = variable.shape().elements();
    const Tensor rows = all_gather_over(*workers, backup_place, copies[own].view({1, elements}), 0).value;
    for (int worker = 0; worker < workers->size(); ++worker)
      all[static_cast<std::size_t>(worker) * copies.size() + own] =
          rows.slice_view(0, worker, worker + 1).view(variable.shape());
  }
  return all;
}

/// The weights with which the stored copies of a variable count in their mean.
std::vector<double> kept_copy_weights(const Strategy& strategy, const Variable& variable) {
  if (variable.synchronization() != Synchronization::on_read) return {};
  return concatenate(strategy.state()->cluster(), backup_place, variable.state().copy_weights());
}

void add_with_inner(LayerImpl& layer, std::vector<LayerImpl*>& layers) {
  layers.push_back(&layer);
  for (const InnerLayer& inner : layer.inner_layers()) add_with_inner(*inner.layer, layers);
}

/// The layers of the model, each followed by the layers inside it.
std::vector<LayerImpl*> all_layers(const Model& model) {
  std::vector<LayerImpl*> layers;
  for (const Layer& layer : model.network().layers()) add_with_inner(layer.impl(), layers);
  return layers;
}

/// For each replica of this process, how often it has drawn random numbers in the layer; empty if the layer draws none.
std::vector<std::uint64_t> counts_of(LayerImpl& layer) {
  const RandomDraws* const draws = layer.random_draws();
  return draws != nullptr ? draws->counts() : std::vector<std::uint64_t>();
}

/// For each replica of all workers, how often it has drawn random numbers in the layer.
std::vector<std::uint64_t> kept_draws(const Strategy& strategy, LayerImpl& layer) {
  const std::vector<std::uint64_t> own = counts_of(layer);
  const std::vector<double> all =
      concatenate(strategy.state()->cluster(), backup_place, std::vector<double>(own.begin(), own.end()));
  return {all.begin(), all.end()};
}

/// The stored values for the replicas of this process: each replica's own value or, if the backup is from a different
/// number of replicas, of_others(all values) for every replica.
template <class T, class Join>
std::vector<T> for_local_replicas(const Strategy& strategy, const std::vector<T>& kept, const Join& of_others) {
  const auto local = static_cast<std::size_t>(strategy.num_local_replicas());
  const auto first = static_cast<std::ptrdiff_t>(strategy.state()->first_replica());
  if (kept.size() == static_cast<std::size_t>(strategy.num_replicas_in_sync()))
    return {kept.begin() + first, kept.begin() + first + static_cast<std::ptrdiff_t>(local)};
  return std::vector<T>(local, of_others(kept));
}

std::vector<Callback*> callbacks_with_state(const TrainingProgress& progress) {
  std::vector<Callback*> callbacks;
  for (const auto& callback : progress.callbacks)
    if (!callback->state().empty()) callbacks.push_back(callback.get());
  return callbacks;
}

void add(hdf5::Writer& file, const std::string& name, const Tensor& tensor) {
  file.add_dataset(name, tensor.to_vector<float>(), tensor.shape());
}

Json metadata_of(const Model& model, const TrainingProgress& progress, const OptimizerState& optimizer) {
  Json metrics = Json::array();
  for (const auto& output : progress.totals.metrics) {
    Json& of_output = metrics.emplace_back(Json::array());
    for (const Metric::Sums& sums : output) of_output.push_back(to_json(sums));
  }
  Json values = Json::object();
  for (const auto& [name, by_epoch] : progress.history.values) values[name] = to_json(by_epoch);
  Json policies = Json::array();
  for (const Layer& layer : model.network().layers()) policies.push_back(name(layer.impl().dtype_policy()));
  Json draws = Json::array();
  for (LayerImpl* const layer : all_layers(model)) draws.push_back(kept_draws(model.strategy(), *layer));
  Json copy_weights = Json::array();
  for (const Variable& variable : model.variables())
    copy_weights.push_back(to_json(kept_copy_weights(model.strategy(), variable)));
  Json slots = Json::array();
  for (const auto& slot : optimizer.slots) slots.push_back({{"name", slot.name}, {"values", slot.values.size()}});
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
          {"history", {{"epoch", progress.history.epoch}, {"values", values}}},
          {"dtype_policies", policies},
          {"draws", draws},
          {"copy_weights", copy_weights},
          {"optimizer",
           {{"steps", optimizer.steps}, {"learning_rate", to_json(optimizer.learning_rate)}, {"slots", slots}}},
          {"callbacks", callbacks}};
}

/// The checked contents of a backup. Everything is read before anything is set.
class Contents {
 public:
  Contents(const Json& json, const hdf5::Reader& file, const Model& model, const TrainingProgress& progress)
      : file_(file), callbacks_(callbacks_with_state(progress)) {
    check_policies(json, model);
    read_weights(json.at("copy_weights"), model);
    read_draws(json, model);
    read_optimizer(json.at("optimizer"));
    read_callbacks(json.at("callbacks"));
    read_progress(json, model, progress);
  }

  void set(Model& model, TrainingProgress& progress) const {
    model.optimizer().load_state(optimizer_);
    const std::vector<Variable> variables = model.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (variables[i].synchronization() != Synchronization::on_read) {
        variables[i].assign(weights_[i][0]);
        continue;
      }
      for (std::size_t copy = 0; copy < weights_[i].size(); ++copy) {
        variables[i].state().write_copy(static_cast<int>(copy), AssignOp::set, weights_[i][copy]);
        variables[i].state().set_copy_weight(static_cast<int>(copy), copy_weights_[i][copy]);
      }
    }
    const std::vector<LayerImpl*> layers = all_layers(model);
    for (std::size_t i = 0; i < draws_.size(); ++i)
      if (RandomDraws* const draws = layers[i]->random_draws()) draws->set_counts(draws_[i]);
    for (std::size_t i = 0; i < callbacks_.size(); ++i) callbacks_[i]->load_state(states_[i]);
    progress = progress_;
  }

 private:
  Tensor read(const std::string& name) const {
    const Tensor tensor = Tensor::empty(file_.shape_of(name));
    file_.read(name, tensor.span<float>());
    return tensor;
  }

  void check_count(std::size_t found, std::size_t own, const std::string& what) const {
    require<InputError>(found == own, "{}: belongs to a run with {} {}, this one has {}", file_.path(), found, what,
                        own);
  }

  /// With different policies, a resumed run would not compute the same bits.
  void check_policies(const Json& json, const Model& model) const {
    const auto policies = json.at("dtype_policies").get<std::vector<std::string>>();
    const std::vector<Layer>& layers = model.network().layers();
    check_count(policies.size(), layers.size(), "layers");
    for (std::size_t i = 0; i < policies.size(); ++i)
      require<InputError>(policies[i] == name(layers[i].impl().dtype_policy()),
                          "{}: belongs to a run whose layer '{}' computes in {}, in this run it is {}", file_.path(),
                          layers[i].name(), policies[i], name(layers[i].impl().dtype_policy()));
  }

  void read_weights(const Json& json, const Model& model) {
    const std::vector<Variable> variables = model.variables();
    check_count(json.size(), variables.size(), "weights");
    check_count(file_.names_in("weights").size(), variables.size(), "weights");
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::size_t copies = file_.names_in(fmt::format("weights/{}", i)).size();
      std::vector<Tensor> kept;
      for (std::size_t copy = 0; copy < copies; ++copy) {
        kept.push_back(read(weight_name(i, copy)));
        require<InputError>(kept[copy].shape() == variables[i].shape(), "{}: weight '{}' has shape {}, not {}",
                            file_.path(), variables[i].name(), kept[copy].shape(), variables[i].shape());
      }
      require<InputError>(!kept.empty(), "{}: has no value of '{}'", file_.path(), variables[i].name());
      const bool on_read = variables[i].synchronization() == Synchronization::on_read;
      const std::vector<double> counts = to_numbers(json.at(i));
      if (on_read) check_count(counts.size(), copies, "copies of '" + variables[i].name() + "'");
      // If the number of replicas has changed, all replicas continue from the mean of the stored copies.
      const auto mean = [&](const std::vector<Tensor>& of) { return weighted_mean(nullptr, backup_place, of, counts); };
      if (on_read && variables[i].state().serves_all_replicas())
        weights_.push_back({mean(kept)});
      else
        weights_.push_back(on_read ? for_local_replicas(model.strategy(), kept, mean) : kept);
      copy_weights_.push_back(for_local_replicas(model.strategy(), counts, [](const auto&) { return 1.0; }));
    }
  }

  void read_draws(const Json& json, const Model& model) {
    draws_ = json.at("draws").get<std::vector<std::vector<std::uint64_t>>>();
    const std::vector<LayerImpl*> layers = all_layers(model);
    check_count(draws_.size(), layers.size(), "layers");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      std::vector<std::uint64_t>& draws = draws_[i];
      if (!draws.empty())
        draws = for_local_replicas(model.strategy(), draws, [](const auto& all) { return std::ranges::max(all); });
      check_count(draws.size(), counts_of(*layers[i]).size(),
                  fmt::format("sequences of random numbers in layer '{}'", layers[i]->name()));
    }
  }

  void read_optimizer(const Json& json) {
    optimizer_.steps = json.at("steps").get<std::int64_t>();
    optimizer_.learning_rate = to_number(json.at("learning_rate"));
    for (std::size_t slot = 0; slot < json.at("slots").size(); ++slot) {
      const Json& entry = json.at("slots")[slot];
      optimizer_.slots.push_back({.name = entry.at("name").get<std::string>(), .values = {}});
      for (std::size_t i = 0; i < entry.at("values").get<std::size_t>(); ++i)
        optimizer_.slots.back().values.push_back(read(slot_name(slot, i)));
    }
  }

  void read_callbacks(const Json& json) {
    check_count(json.size(), callbacks_.size(), "callbacks that have a state");
    for (std::size_t callback = 0; callback < json.size(); ++callback) {
      states_.emplace_back();
      for (const auto& [name, value] : json[callback].at("values").items())
        states_.back().values[name] = to_number(value);
      for (std::size_t i = 0; i < json[callback].at("tensors").get<std::size_t>(); ++i)
        states_.back().tensors.push_back(read(callback_name(callback, i)));
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
    if (progress_.totals.examples > 0) check_count(kept_metrics, model.metrics().size(), "metrics");
    progress_.history.epoch = json.at("history").at("epoch").get<std::vector<int>>();
    for (const auto& [name, values] : json.at("history").at("values").items())
      progress_.history.values[name] = to_numbers(values);
  }

  const hdf5::Reader& file_;
  const std::vector<Callback*> callbacks_;
  std::vector<std::vector<Tensor>> weights_;       ///< by variable, then by copy
  std::vector<std::vector<double>> copy_weights_;  ///< for variables with Synchronization::on_read
  std::vector<std::vector<std::uint64_t>> draws_;
  OptimizerState optimizer_;
  std::vector<CallbackState> states_;
  TrainingProgress progress_;
};

}  // namespace

void BackupFolder::write(const Model& model, const TrainingProgress& progress) const {
  const OptimizerState optimizer = model.optimizer().state();
  const auto bytes = static_cast<std::size_t>(model.count_params()) * sizeof(float);
  hdf5::Writer file(bytes * (1 + optimizer.slots.size()));
  const std::vector<Variable> variables = model.variables();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::vector<Tensor> copies = kept_copies(model.strategy(), variables[i]);
    for (std::size_t copy = 0; copy < copies.size(); ++copy) add(file, weight_name(i, copy), copies[copy]);
  }
  for (std::size_t slot = 0; slot < optimizer.slots.size(); ++slot)
    for (std::size_t i = 0; i < optimizer.slots[slot].values.size(); ++i)
      add(file, slot_name(slot, i), optimizer.slots[slot].values[i]);
  const std::vector<Callback*> callbacks = callbacks_with_state(progress);
  for (std::size_t callback = 0; callback < callbacks.size(); ++callback) {
    const CallbackState state = callbacks[callback]->state();
    for (std::size_t i = 0; i < state.tensors.size(); ++i) add(file, callback_name(callback, i), state.tensors[i]);
  }

  const std::string name = fmt::format("state-{}-{}.h5", progress.epoch, progress.steps);
  Json json = metadata_of(model, progress, optimizer);
  json["state"] = name;
  if (!model.strategy().is_chief()) return;  // all workers are needed to read the variables

  std::error_code error;
  std::filesystem::create_directories(path_, error);
  require<InputError>(!error, "{}: the folder cannot be made: {}", path_.string(), error.message());
  remove_leftovers();
  const bool is_new = !std::filesystem::exists(path_ / name, error);
  file.write_to((path_ / name).string());
  const std::string text = json.dump(2) + "\n";
  try {
    write_file_atomically(metadata().string(), std::as_bytes(std::span(text)));
  } catch (const InputError&) {
    if (is_new) std::filesystem::remove(path_ / name, error);  // no metadata refers to the file
    throw;
  }
  remove_states(name);
}

void BackupFolder::read(Model& model, TrainingProgress& progress) const {
  const std::string text = read_metadata();
  if (Cluster* const workers = model.strategy().state()->cluster())
    workers->agree(backup_place,
                   fmt::format("{} has to be one folder for all workers; what they see in it is", path_.string()),
                   text.empty() ? "nothing" : fmt::format("a backup of hash {:x}", std::hash<std::string>()(text)));
  if (text.empty()) return;
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
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void BackupFolder::remove() const {
  std::error_code ignored;
  remove_leftovers();
  std::filesystem::remove(metadata(), ignored);
  remove_states("");
  std::filesystem::remove(path_, ignored);  // fails if the folder is not empty
}

void BackupFolder::remove_leftovers() const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored))
    if (is_unfinished_file(entry.path())) std::filesystem::remove(entry.path(), ignored);
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
