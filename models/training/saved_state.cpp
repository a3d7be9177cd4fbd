#include "lockstep/models/training/saved_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/strategy/comm/cluster/over_replicas.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>

namespace lockstep {
namespace {

using Json = nlohmann::json;

/// Names of the tensors in a file.
std::string weight_name(std::size_t variable, std::size_t copy) { return fmt::format("weights/{}/{}", variable, copy); }
std::string slot_name(std::size_t slot, std::size_t variable) { return fmt::format("optimizer/{}/{}", slot, variable); }

/// The copies of a variable to store: one copy if all are equal, or the copies of all workers.
std::vector<Tensor> kept_copies(const Strategy& strategy, const Variable& variable) {
  const std::vector<Tensor>& copies = variable.state().copies();
  if (variable.synchronization() != Synchronization::on_read) return {copies.front()};
  Cluster* const workers = strategy.state()->cluster();
  if (!workers) return copies;
  std::vector<Tensor> all(static_cast<std::size_t>(strategy.num_replicas_in_sync()));
  for (std::size_t own = 0; own < copies.size(); ++own) {
    const auto elements = variable.shape().elements();
    const Tensor rows = all_gather_over(*workers, saved_state_place, copies[own].view({1, elements}), 0).value;
    for (int worker = 0; worker < workers->size(); ++worker)
      all[static_cast<std::size_t>(worker) * copies.size() + own] =
          rows.slice_view(0, worker, worker + 1).view(variable.shape());
  }
  return all;
}

/// The weights with which the stored copies of a variable count in their mean.
std::vector<double> kept_copy_weights(const Strategy& strategy, const Variable& variable) {
  if (variable.synchronization() != Synchronization::on_read) return {};
  return gather_values(strategy.state()->cluster(), saved_state_place, variable.state().copy_weights());
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

/// For each replica of this process, how often it has drawn random numbers; empty for null.
std::vector<std::uint64_t> counts_of(const RandomDraws* draws) {
  return draws != nullptr ? draws->counts() : std::vector<std::uint64_t>();
}

/// The stored values for the replicas of this process: each replica's own value or, if they are from a different number
/// of replicas, of_others(all values) for every replica.
template <class T, class Join>
std::vector<T> for_local_replicas(const Strategy& strategy, const std::vector<T>& kept, const Join& of_others) {
  const auto local = static_cast<std::size_t>(strategy.num_local_replicas());
  const auto first = static_cast<std::ptrdiff_t>(strategy.state()->first_replica());
  if (kept.size() == static_cast<std::size_t>(strategy.num_replicas_in_sync()))
    return {kept.begin() + first, kept.begin() + first + static_cast<std::ptrdiff_t>(local)};
  return std::vector<T>(local, of_others(kept));
}

/// The value from which each of `replicas` replicas continues if their number has changed, so that the variable keeps
/// the value that it has outside replicas.
Tensor value_for_each(Aggregation aggregation, const std::vector<Tensor>& kept, const std::vector<double>& weights,
                      int replicas) {
  if (aggregation == Aggregation::only_first_replica) return kept.front();
  if (aggregation != Aggregation::sum) return weighted_mean(nullptr, saved_state_place, kept, weights);
  Tensor sum = kept.front();
  for (const Tensor& copy : std::span(kept).subspan(1)) sum = sum + copy;
  return sum / static_cast<double>(replicas);
}

/// With different policies, a resumed run would not compute the same bits.
void check_policies(const hdf5::Reader& file, const Json& json, const Model& model) {
  const auto policies = json.at("dtype_policies").get<std::vector<std::string>>();
  const std::vector<Layer>& layers = model.network().layers();
  check_saved_count(file, policies.size(), layers.size(), "layers");
  for (std::size_t i = 0; i < policies.size(); ++i)
    require<InputError>(policies[i] == name(layers[i].impl().dtype_policy()),
                        "{}: belongs to a run whose layer '{}' computes in {}, in this run it is {}", file.path(),
                        layers[i].name(), policies[i], name(layers[i].impl().dtype_policy()));
}

/// All stored copies of variable number `i`.
std::vector<Tensor> read_copies(const hdf5::Reader& file, const std::string& prefix, std::size_t i,
                                const Variable& variable) {
  const std::size_t copies = file.names_in(prefix + fmt::format("weights/{}", i)).size();
  std::vector<Tensor> kept;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    kept.push_back(read_tensor(file, prefix + weight_name(i, copy)));
    require<InputError>(kept[copy].shape() == variable.shape(), "{}: weight '{}' has shape {}, not {}", file.path(),
                        variable.name(), kept[copy].shape(), variable.shape());
  }
  require<InputError>(!kept.empty(), "{}: has no value of '{}'", file.path(), variable.name());
  return kept;
}

}  // namespace

Json to_json(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

double to_number(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  for (const double value : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (const double number : {value, -value})
      if (fmt::format("{}", number) == text) return number;
  fail<InputError>("a saved state has {:?} in place of a number", text);
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

Tensor read_tensor(const hdf5::Reader& file, const std::string& name) {
  const Tensor tensor = Tensor::empty(file.shape_of(name));
  file.read(name, tensor.span<float>());
  return tensor;
}

void check_saved_count(const hdf5::Reader& file, std::size_t saved, std::size_t own, const std::string& what) {
  require<InputError>(saved == own, "{}: belongs to a run with {} {}, this one has {}", file.path(), saved, what, own);
}

void SavedVariables::save(hdf5::Writer& file, const std::string& prefix, Json& json, const Strategy& strategy,
                          const std::vector<Variable>& variables) {
  Json copy_weights = Json::array();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    check_is_f32(variables[i], "backups and checkpoints");
    const std::vector<Tensor> copies = kept_copies(strategy, variables[i]);
    for (std::size_t copy = 0; copy < copies.size(); ++copy)
      file.add_dataset(prefix + weight_name(i, copy), copies[copy].to_vector<float>(), copies[copy].shape());
    copy_weights.push_back(to_json(kept_copy_weights(strategy, variables[i])));
  }
  json["copy_weights"] = copy_weights;
}

SavedVariables::SavedVariables(const hdf5::Reader& file, const std::string& prefix, const Json& json,
                               const Strategy& strategy, std::vector<Variable> variables)
    : variables_(std::move(variables)) {
  const Json& copy_weights = json.at("copy_weights");
  check_saved_count(file, copy_weights.size(), variables_.size(), "weights");
  check_saved_count(file, file.names_in(prefix + "weights").size(), variables_.size(), "weights");
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const std::vector<Tensor> kept = read_copies(file, prefix, i, variables_[i]);
    const bool on_read = variables_[i].synchronization() == Synchronization::on_read;
    const std::vector<double> counts = to_numbers(copy_weights.at(i));
    if (on_read) check_saved_count(file, counts.size(), kept.size(), "copies of '" + variables_[i].name() + "'");
    const auto joined = [&](const std::vector<Tensor>& all) {
      return value_for_each(variables_[i].state().spec().aggregation, all, counts, strategy.num_replicas_in_sync());
    };
    if (on_read && variables_[i].state().serves_all_replicas())
      values_.push_back({joined(kept)});
    else
      values_.push_back(on_read ? for_local_replicas(strategy, kept, joined) : kept);
    copy_weights_.push_back(for_local_replicas(strategy, counts, [](const auto&) { return 1.0; }));
  }
}

void SavedVariables::set() const {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].synchronization() != Synchronization::on_read) {
      variables_[i].assign(values_[i][0]);
      continue;
    }
    for (std::size_t copy = 0; copy < values_[i].size(); ++copy) {
      variables_[i].state().write_copy(static_cast<int>(copy), AssignOp::set, values_[i][copy]);
      variables_[i].state().set_copy_weight(static_cast<int>(copy), copy_weights_[i][copy]);
    }
  }
}

std::vector<std::uint64_t> kept_draws(const Strategy& strategy, const RandomDraws* draws) {
  const std::vector<std::uint64_t> own = counts_of(draws);
  const std::vector<double> all =
      gather_values(strategy.state()->cluster(), saved_state_place, std::vector<double>(own.begin(), own.end()));
  return {all.begin(), all.end()};
}

std::vector<std::uint64_t> local_draws(const hdf5::Reader& file, const Strategy& strategy,
                                       const std::vector<std::uint64_t>& kept, const RandomDraws* draws,
                                       const std::string& what) {
  std::vector<std::uint64_t> local;
  if (!kept.empty()) local = for_local_replicas(strategy, kept, [](const auto& all) { return std::ranges::max(all); });
  check_saved_count(file, local.size(), counts_of(draws).size(), what);
  return local;
}

void SavedModel::save(hdf5::Writer& file, const std::string& prefix, Json& json, const Model& model) {
  SavedVariables::save(file, prefix, json, model.strategy(), model.variables());
  Json policies = Json::array();
  for (const Layer& layer : model.network().layers()) policies.push_back(name(layer.impl().dtype_policy()));
  Json draws = Json::array();
  for (LayerImpl* const layer : all_layers(model)) draws.push_back(kept_draws(model.strategy(), layer->random_draws()));
  json["dtype_policies"] = policies;
  json["draws"] = draws;
}

SavedModel::SavedModel(const hdf5::Reader& file, const std::string& prefix, const Json& json, const Model& model)
    : model_(model),
      variables_(file, prefix, json, model.strategy(), model.variables()),
      draws_(json.at("draws").get<std::vector<std::vector<std::uint64_t>>>()) {
  check_policies(file, json, model);
  const std::vector<LayerImpl*> layers = all_layers(model);
  check_saved_count(file, draws_.size(), layers.size(), "layers");
  for (std::size_t i = 0; i < layers.size(); ++i)
    draws_[i] = local_draws(file, model.strategy(), draws_[i], layers[i]->random_draws(),
                            fmt::format("sequences of random numbers in layer '{}'", layers[i]->name()));
}

void SavedModel::set() const {
  variables_.set();
  const std::vector<LayerImpl*> layers = all_layers(model_);
  for (std::size_t i = 0; i < draws_.size(); ++i)
    if (RandomDraws* const draws = layers[i]->random_draws()) draws->set_counts(draws_[i]);
}

void SavedOptimizer::save(hdf5::Writer& file, const std::string& prefix, Json& json, const OptimizerState& state) {
  Json slots = Json::array();
  for (std::size_t slot = 0; slot < state.slots.size(); ++slot) {
    const std::vector<Tensor>& values = state.slots[slot].values;
    for (std::size_t i = 0; i < values.size(); ++i)
      file.add_dataset(prefix + slot_name(slot, i), values[i].to_vector<float>(), values[i].shape());
    slots.push_back({{"name", state.slots[slot].name}, {"values", values.size()}});
  }
  json = {{"steps", state.steps}, {"learning_rate", to_json(state.learning_rate)}, {"slots", slots}};
}

SavedOptimizer::SavedOptimizer(const hdf5::Reader& file, const std::string& prefix, const Json& json)
    : state_{.steps = json.at("steps").get<std::int64_t>(), .learning_rate = to_number(json.at("learning_rate"))} {
  for (std::size_t slot = 0; slot < json.at("slots").size(); ++slot) {
    const Json& entry = json.at("slots")[slot];
    state_.slots.push_back({.name = entry.at("name").get<std::string>(), .values = {}});
    for (std::size_t i = 0; i < entry.at("values").get<std::size_t>(); ++i)
      state_.slots.back().values.push_back(read_tensor(file, prefix + slot_name(slot, i)));
  }
}

}  // namespace lockstep
