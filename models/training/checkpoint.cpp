#include "lockstep/models/training/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <ranges>

#include <fmt/ranges.h>

#include <lockstep/models/files/json_text.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/training/saved_state.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/parse_number.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr const char* state_attribute = "lockstep_checkpoint";

/// Writes one object; the members have an overload for each kind.
struct ObjectWriter {
  hdf5::Writer& file;
  const Strategy& strategy;
  std::string prefix;
  Json json = Json::object();

  void operator()(const Model& model) { SavedModel::save(file, prefix, json["model"], model); }
  void operator()(const Optimizer& optimizer) {
    SavedOptimizer::save(file, prefix, json["optimizer"], optimizer.state());
  }
  void operator()(const Variable& variable) {
    SavedVariables::save(file, prefix, json["variable"], strategy, {variable});
  }
  void operator()(const std::int64_t* number) { json["integer"] = *number; }
  void operator()(const double* number) { json["number"] = to_json(*number); }
  void operator()(const RandomDraws* draws) { json["draws"] = kept_draws(strategy, draws); }
};

/// Reads one object; returns the function that sets it. Only the functions of optimizers can throw; they then leave
/// that optimizer as it was.
struct ObjectReader {
  using Set = std::function<void()>;
  const hdf5::Reader& file;
  const Strategy& strategy;
  const std::string& prefix;
  const Json& json;

  Set operator()(const Model& model) const {
    return [saved = SavedModel(file, prefix, json.at("model"), model)] { saved.set(); };
  }
  Set operator()(const Optimizer& optimizer) const {
    return [saved = SavedOptimizer(file, prefix, json.at("optimizer")), optimizer] { saved.set(optimizer); };
  }
  Set operator()(const Variable& variable) const {
    return [saved = SavedVariables(file, prefix, json.at("variable"), strategy, {variable})] { saved.set(); };
  }
  Set operator()(std::int64_t* number) const {
    return [number, value = json.at("integer").get<std::int64_t>()] { *number = value; };
  }
  Set operator()(double* number) const {
    return [number, value = to_number(json.at("number"))] { *number = value; };
  }
  Set operator()(RandomDraws* draws) const {
    const auto kept = json.at("draws").get<std::vector<std::uint64_t>>();
    return [draws, counts = local_draws(file, strategy, kept, draws, "sequences of random numbers")] {
      draws->set_counts(counts);
    };
  }
};

/// Sets all optimizers, or none.
void set_optimizers(const std::string& path, const std::vector<std::pair<Optimizer, ObjectReader::Set>>& optimizers) {
  std::vector<OptimizerState> before;
  for (const auto& [optimizer, set] : optimizers) before.push_back(optimizer.state());
  for (std::size_t i = 0; i < optimizers.size(); ++i) try {
      optimizers[i].second();
    } catch (const InvalidArgument& error) {
      for (std::size_t done = 0; done < i; ++done) optimizers[done].first.load_state(before[done]);
      fail<InputError>("{}: {}", path, error.what());
    }
}

/// Numbers and paths of the checkpoints in a folder.
std::map<std::int64_t, std::string> checkpoints_in(const std::string& directory, const std::string& name) {
  std::map<std::int64_t, std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(name + "-") || !file.ends_with(".h5")) continue;
    const std::string_view digits = std::string_view(file).substr(name.size() + 1, file.size() - name.size() - 4);
    if (const std::int64_t number = parse_number<std::int64_t>(digits).value_or(0); number > 0)
      found[number] = entry.path().string();
  }
  return found;
}

}  // namespace

Checkpoint& Checkpoint::add_object(const std::string& name, Object object) {
  require(!name.empty() && name != "." && name.find('/') == std::string::npos,
          "the name of an object in a checkpoint must not be '.', empty or contain '/', got '{}'", name);
  require(objects_.emplace(name, std::move(object)).second, "the checkpoint has an object named '{}' already", name);
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, const Model& model) {
  require(model.strategy().state() == strategy_.state(),
          "the model '{}' belongs to another strategy than the checkpoint", name);
  return add_object(name, model);
}
Checkpoint& Checkpoint::add(const std::string& name, const Optimizer& optimizer) { return add_object(name, optimizer); }
Checkpoint& Checkpoint::add(const std::string& name, const Variable& variable) { return add_object(name, variable); }
Checkpoint& Checkpoint::add(const std::string& name, RandomDraws& draws) {
  require(draws.counts().size() == static_cast<std::size_t>(strategy_.num_local_replicas()),
          "the random numbers '{}' were not started in the scope of the checkpoint's strategy", name);
  return add_object(name, &draws);
}
Checkpoint& Checkpoint::add(const std::string& name, std::int64_t& number) { return add_object(name, &number); }
Checkpoint& Checkpoint::add(const std::string& name, double& number) { return add_object(name, &number); }

void Checkpoint::write(const std::string& path) const {
  check_outside_replica("Checkpoint::write");
  std::int64_t parameters = 0;
  for (const auto& [name, object] : objects_)
    if (const auto* const model = std::get_if<Model>(&object)) parameters += model->count_params();
  hdf5::Writer file(static_cast<std::size_t>(parameters) * sizeof(float) * 3);  // with two slots of an optimizer
  Json objects = Json::object();
  for (const auto& [name, object] : objects_) {
    ObjectWriter writer{.file = file, .strategy = strategy_, .prefix = name + "/"};
    std::visit(writer, object);
    objects[name] = writer.json;
  }
  file.add_attribute("/", state_attribute, json_text(objects));
  on_all_workers(strategy_, [&] {
    if (!strategy_.is_chief()) return;  // all workers are needed to read the variables
    make_folder_of(path);
    file.write_to(path);
  });
}

void Checkpoint::read(const std::string& path) const {
  check_outside_replica("Checkpoint::read");
  std::vector<ObjectReader::Set> sets;
  std::vector<std::pair<Optimizer, ObjectReader::Set>> optimizers;
  on_all_workers(strategy_, [&] {
    try {
      const hdf5::Reader file(path);
      require<InputError>(file.has_attribute("/", state_attribute), "{}: is no checkpoint", path);
      const auto saved = Json::parse(file.attribute("/", state_attribute).at(0)).get<std::map<std::string, Json>>();
      require<InputError>(std::ranges::equal(std::views::keys(saved), std::views::keys(objects_)),
                          "{}: contains {}, not {}", path, fmt::join(std::views::keys(saved), ", "),
                          fmt::join(std::views::keys(objects_), ", "));
      for (const auto& [name, object] : objects_) {
        const std::string prefix = name + "/";
        auto set = std::visit(
            ObjectReader{.file = file, .strategy = strategy_, .prefix = prefix, .json = saved.at(name)}, object);
        if (const auto* const optimizer = std::get_if<Optimizer>(&object))
          optimizers.emplace_back(*optimizer, std::move(set));
        else
          sets.push_back(std::move(set));
      }
    } catch (const nlohmann::json::exception& problem) {
      fail<InputError>("{}: is no checkpoint of these objects: {}", path, problem.what());
    }
  });
  set_optimizers(path, optimizers);
  for (const ObjectReader::Set& set : sets) set();
}

CheckpointManager::CheckpointManager(const Checkpoint& checkpoint, std::string directory,
                                     const CheckpointManagerOptions& options)
    : checkpoint_(checkpoint), directory_(std::move(directory)), options_(options) {
  require(!directory_.empty(), "CheckpointManager needs a folder");
  require(options.max_to_keep.value_or(1) >= 1, "CheckpointManager needs a max_to_keep of at least 1, got {}",
          options.max_to_keep.value_or(0));
  require(!options.checkpoint_name.empty() && options.checkpoint_name.find('/') == std::string::npos,
          "CheckpointManager needs a checkpoint_name without '/', got '{}'", options.checkpoint_name);
  for (const auto& [number, path] : checkpoints_in(directory_, options.checkpoint_name)) {
    last_number_ = number;
    paths_.push_back(path);
  }
  // The chief may write the next one only after all workers have looked.
  if (Cluster* const workers = checkpoint_.strategy().state()->cluster())
    workers->agree(saved_state_place,
                   fmt::format("{} has to be one folder for all workers; the last checkpoint in it is", directory_),
                   fmt::format("{}", last_number_));
}

std::string CheckpointManager::save() {
  require<InputError>(last_number_ < std::numeric_limits<std::int64_t>::max(),
                      "{}: no checkpoint can have a larger number; rename it or save to another folder",
                      latest_checkpoint().value_or(directory_));
  const bool is_chief = checkpoint_.strategy().is_chief();
  if (is_chief) remove_unfinished_files(directory_);
  const std::string name = fmt::format("{}-{}.h5", options_.checkpoint_name, last_number_ + 1);
  const std::string path = (std::filesystem::path(directory_) / name).string();
  checkpoint_.write(path);
  ++last_number_;
  paths_.push_back(path);
  while (options_.max_to_keep && paths_.size() > static_cast<std::size_t>(*options_.max_to_keep)) {
    std::error_code ignored;
    if (is_chief) std::filesystem::remove(paths_.front(), ignored);
    paths_.erase(paths_.begin());
  }
  return path;
}

std::optional<std::string> CheckpointManager::latest_checkpoint() const {
  return paths_.empty() ? std::nullopt : std::optional(paths_.back());
}

std::optional<std::string> CheckpointManager::restore_or_initialize() const {
  const std::optional<std::string> latest = latest_checkpoint();
  if (latest) checkpoint_.read(*latest);
  return latest;
}

}  // namespace lockstep
