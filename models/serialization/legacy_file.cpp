#include "lockstep/models/serialization/legacy_file.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/files/json_text.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/keras_2.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/optimizer_variables.h>
#include <lockstep/models/serialization/parsed_model.h>
#include <lockstep/models/serialization/symbolic_model.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

const std::string weights_group = "model_weights";
const std::string legacy_optimizer_group = "optimizer_weights";
const char* const format_version = "3.15.1";  // the Keras version with this layout

/// The layers whose weights are in one group of a file.
struct Holder {
  std::string group;
  std::string name;
  std::vector<Layer> layers{};
  /// Whether the file's model trains each layer. If there is not one value for each layer, the layers themselves
  /// decide.
  std::vector<bool> trained{};

  /// The weights with their layers in the file's order, which has trained weights first.
  std::vector<std::pair<Layer, Variable>> weights() const {
    std::vector<std::pair<Layer, Variable>> first;
    std::vector<std::pair<Layer, Variable>> others;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      for (const Variable& variable : layers[i].impl().variables()) {
        const bool may_train = layers[i].impl().trainable() ? variable.trainable() : *variable.state().spec().trainable;
        const bool is_trained = trained.size() == layers.size() ? trained[i] && may_train : variable.trainable();
        (is_trained ? first : others).emplace_back(layers[i], variable);
      }
    }
    first.insert(first.end(), others.begin(), others.end());
    return first;
  }

  std::vector<Variable> variables() const {
    std::vector<Variable> all;
    for (const auto& [layer, variable] : weights()) all.push_back(variable);
    return all;
  }
};

std::string root_of_weights(const hdf5::Reader& file) { return file.has_group(weights_group) ? weights_group : ""; }

std::string first_of(const std::vector<std::string>& texts) { return texts.empty() ? "" : texts.front(); }

/// The root's attribute, parsed; empty if it does not exist.
std::optional<Json> read_json(const hdf5::Reader& file, const std::string& attribute) {
  if (!file.has_attribute("/", attribute)) return {};
  return parse_json(first_of(file.attribute("/", attribute)), fmt::format("{}: {:?}", file.path(), attribute));
}

/// Reads the weights of one group and adds them to `values` with their variables. As in Keras, skip_mismatch skips only
/// the weights of other shapes.
void read_holder(const hdf5::Reader& file, const Holder& holder, const LoadWeightsOptions& options,
                 WeightValues& values) {
  const std::vector<Variable> variables = holder.variables();
  if (variables.empty() && !file.has_group(holder.group)) return;
  require<InputError>(file.has_group(holder.group), "{}: has no weights for layer '{}': there is no group {:?}",
                      file.path(), holder.name, holder.group);
  const std::vector<std::string> names = file.attribute(holder.group, "weight_names");
  require<InputError>(names.size() == variables.size(), "{}: layer '{}' has {} weights, group {:?} has {}", file.path(),
                      holder.name, variables.size(), holder.group, names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string dataset = fmt::format("{}/{}", holder.group, names[i]);
    const Shape shape = file.shape_of(dataset);
    if (shape != variables[i].shape()) {
      options.skip(fmt::format("{}: weight '{}' has shape {}, {:?} has {}", file.path(), variables[i].name(),
                               variables[i].shape(), dataset, shape),
                   false);
      continue;
    }
    check_is_f32(variables[i], keras_files);
    const Tensor value = Tensor::empty(shape);
    file.read(dataset, value.span<float>());
    values.emplace_back(variables[i], value);
  }
}

/// Adds whether the layer, or each layer of a nested model, is trained. As in Keras 3, this depends on `trainable` of
/// the layer itself and of the top-level layer that contains it (`outer_trains`), not on that of models in between.
void add_trained(const Json& layer, bool outer_trains, std::vector<bool>& trained) {
  static const Json none = Json::object();
  const Json& options = layer.is_object() && layer.contains("config") ? layer["config"] : none;
  if (!options.is_object() || (layer.is_object() && layer.value("class_name", Json()) == "InputLayer")) return;
  const bool names_class = layer.is_object() && layer.value("class_name", Json()).is_string();
  if (!names_class || !is_model(class_name_in(layer)) || !options.contains("layers"))
    return trained.push_back(outer_trains && options.value("trainable", Json()) != false);
  for (const Json& inner : options["layers"]) add_trained(inner, outer_trains, trained);
}

/// For each group, which layers are trained by the model's configuration. Ignores `trainable` of the outermost model.
std::map<std::string, std::vector<bool>> trained_layers(const Json& model) {
  std::map<std::string, std::vector<bool>> trained;
  const Json config = model.is_object() ? model.value("config", Json::object()) : Json::object();
  for (const Json& layer : config.is_object() ? config.value("layers", Json::array()) : Json::array()) {
    const Json options = layer.is_object() ? layer.value("config", Json::object()) : Json::object();
    if (const Json name = options.is_object() ? options.value("name", Json()) : Json(); name.is_string())
      add_trained(layer, options.value("trainable", Json()) != false,
                  trained[fmt::format("{}/{}", weights_group, name.get<std::string>())]);
  }
  return trained;
}

WeightValues read_holders(const hdf5::Reader& file, const Json& model, std::vector<Holder> holders,
                          const LoadWeightsOptions& options = {}) {
  const std::map<std::string, std::vector<bool>> trained = trained_layers(model);
  WeightValues values;
  for (Holder& holder : holders) {
    if (const auto found = trained.find(holder.group); found != trained.end()) holder.trained = found->second;
    const std::size_t before = values.size();
    try {
      read_holder(file, holder, options, values);
    } catch (const InputError& error) {
      options.skip(error.what(), false);
      values.resize(before);
    }
  }
  return values;
}

std::vector<std::string> groups_with_weights(const hdf5::Reader& file) {
  const std::string root = root_of_weights(file);
  std::vector<std::string> groups;
  for (const std::string& name : file.attribute(root.empty() ? "/" : root, "layer_names")) {
    const std::string group = root.empty() ? name : fmt::format("{}/{}", root, name);
    if (!file.attribute(group, "weight_names").empty()) groups.push_back(group);
  }
  return groups;
}

/// A holder for each part of a model, with the layers that no earlier part contains. `group` is not set.
std::vector<Holder> holders_of(const NestedModel& model) {
  std::set<const LayerImpl*> seen;
  std::vector<Holder> holders;
  for (const ModelPart& part : model.layers) {
    Holder holder{.group = {}, .name = part.layer ? part.layer->name() : part.model->name};
    for (const Layer& layer : part.layer ? std::vector{*part.layer} : layers_of(*part.model))
      if (seen.insert(&layer.impl()).second) holder.layers.push_back(layer);
    holders.push_back(std::move(holder));
  }
  return holders;
}

/// The holders of a model that have weights.
std::vector<Holder> holders_with_weights(const NestedModel& model) {
  std::vector<Holder> holders = holders_of(model);
  std::erase_if(holders, [](const Holder& holder) { return holder.variables().empty(); });
  return holders;
}

/// The model's parts with weights that have the name of one of the groups, with their groups.
std::vector<Holder> holders_by_name(const hdf5::Reader& file, const std::vector<std::string>& groups,
                                    const NestedModel& model, const LoadWeightsOptions& options) {
  const std::string root = root_of_weights(file);
  std::vector<Holder> holders = holders_with_weights(model);
  for (Holder& holder : holders) holder.group = root.empty() ? holder.name : fmt::format("{}/{}", root, holder.name);
  for (const std::string& group : groups)
    if (std::ranges::find(holders, group, &Holder::group) == holders.end())
      options.skip(fmt::format("{}: the model has no layer for the weights in group {:?}", file.path(), group), true);
  std::erase_if(holders, [&](const Holder& holder) {
    const bool missing = std::ranges::find(groups, holder.group) == groups.end();
    if (missing) options.skip(fmt::format("{}: has no weights for layer '{}'", file.path(), holder.name), true);
    return missing;
  });
  return holders;
}

/// Whether groups and holders agree in names and numbers of weights. Names are not sufficient, because a nested model
/// may have the same name as its only layer with weights.
bool match(const hdf5::Reader& file, const std::vector<std::string>& groups, const std::vector<Holder>& holders) {
  return std::ranges::equal(groups, holders, [&](const std::string& group, const Holder& holder) {
    return (group == holder.name || group.ends_with("/" + holder.name)) &&
           file.attribute(group, "weight_names").size() == holder.variables().size();
  });
}

/// If the file's only group has as many weights as the network, a holder of all its layers. The file is then from an
/// old multi_gpu_model, whose only layer with weights is the template model.
std::optional<Holder> joined_if_nested(const hdf5::Reader& file, const std::string& group, const Network& network) {
  Holder all{.group = group, .name = group, .layers = layers_of(flat_keras_model(network, ""))};
  if (file.attribute(group, "weight_names").size() != all.variables().size()) return {};
  return all;
}

void write_holder(hdf5::Writer& file, const Holder& holder) {
  const std::string group = fmt::format("{}/{}", weights_group, holder.name);
  file.add_group(group);
  UniqueNames unique;
  std::vector<std::string> names;
  for (const auto& [layer, variable] : holder.weights()) {
    check_is_f32(variable, keras_files);
    names.push_back(unique.make(layer.weight_name(variable)));
    file.add_dataset(fmt::format("{}/{}", group, names.back()), variable.value().to_vector<float>(), variable.shape());
  }
  file.add_attribute(group, "weight_names", names);
}

void write_group_without_weights(hdf5::Writer& file, const std::string& name) {
  const std::string group = fmt::format("{}/{}", weights_group, name);
  file.add_group(group);
  file.add_attribute(group, "weight_names", std::vector<std::string>{});
}

void write_legacy_training(hdf5::Writer& file, const Training& training) {
  file.add_attribute("/", "training_config", json_text(compile_config(training.config, ConfigForm::legacy_h5)));
  const std::string optimizer = snake_case(training.config.optimizer.config().rule.class_name);
  std::vector<std::string> names;
  write_optimizer(file, legacy_optimizer_group, training, [&](std::size_t, const std::string& name) {
    names.push_back(fmt::format("{}/{}", optimizer, name));
    return fmt::format("{}/{}", legacy_optimizer_group, names.back());
  });
  file.add_attribute(legacy_optimizer_group, "weight_names", names);
}

/// The data sets of the optimizer's variables, for any version of Keras. Names that end in ":0" are from Keras 2 on
/// TensorFlow.
OptimizerDatasets optimizer_datasets(const hdf5::Reader& file) {
  using enum OptimizerDatasets::Order;
  OptimizerDatasets found;
  if (!file.has_group(legacy_optimizer_group)) return found;
  const std::vector<std::string> names = file.attribute(legacy_optimizer_group, "weight_names");
  for (const std::string& name : names) found.names.push_back(fmt::format("{}/{}", legacy_optimizer_group, name));
  if (!names.empty() && names.front().ends_with(":0"))
    found.order = names.front().ends_with("iteration:0") ? tensorflow_2_11 : keras_2;
  found.counts_first = !names.empty() && names.front().ends_with("/iterations:0");
  return found;
}

/// The contents of a legacy file as Keras 3 writes it.
std::vector<std::byte> legacy_contents(const Network& network, const NestedModel& model,
                                       const std::optional<Training>& training) {
  const NestedModel named = with_file_names(model, ConfigForm::legacy_h5);
  const std::string config = json_text(network_config(named, ConfigForm::legacy_h5));
  hdf5::Writer file(static_cast<std::size_t>(network.count_params()) * sizeof(float) + config.size() +
                    (training ? bytes_of_optimizer(*training) : 0));
  file.add_attribute("/", "model_config", config);
  file.add_group(weights_group);
  std::vector<std::string> names;
  for (const NetworkInput& input : named.inputs) {
    names.push_back(input.name);
    write_group_without_weights(file, input.name);
  }
  for (const Holder& holder : holders_of(named)) {
    names.push_back(holder.name);
    write_holder(file, holder);
  }
  write_group_without_weights(file, "top_level_model_weights");
  file.add_attribute(weights_group, "layer_names", names);
  for (const std::string& group : {std::string("/"), weights_group}) {
    file.add_attribute(group, "keras_version", std::string(format_version));
    file.add_attribute(group, "backend", std::string("lockstep"));
  }
  if (training) write_legacy_training(file, *training);
  return file.image();
}

Json read_legacy_config(const std::string& path) {
  const hdf5::Reader file(path);
  std::optional<Json> model = read_json(file, "model_config");
  require<InputError>(model.has_value(), "{}: holds no model: it has no attribute \"model_config\"{}", path,
                      holds_legacy_weights(file) ? "; load its weights into a model of your own" : "");
  if (const std::optional<Json> training = read_json(file, "training_config"); training && model->is_object())
    (*model)["compile_config"] = *training;
  const auto text = [&](const char* name) {
    return file.has_attribute("/", name) ? first_of(file.attribute("/", name)) : "";
  };
  return in_own_terms(*model, {.version = text("keras_version"), .backend = text("backend")});
}

void set_legacy_weights(const std::string& path, const Json& config, const std::vector<SavedLayer>& layers,
                        std::optional<Training>& training) {
  const hdf5::Reader file(path);
  std::vector<Holder> holders;
  std::map<std::string, std::size_t> holder_of;
  for (const SavedLayer& saved : layers) {
    const auto [holder, is_new] = holder_of.try_emplace(saved.top_level, holders.size());
    if (is_new)
      holders.push_back({.group = fmt::format("{}/{}", weights_group, saved.top_level), .name = saved.top_level});
    holders[holder->second].layers.push_back(saved.layer);
  }
  for (const auto& [variable, value] : read_holders(file, config, holders)) variable.assign(value);
  if (training)
    training->config.optimizer = read_optimizer(file, legacy_optimizer_group, optimizer_datasets(file), *training);
}

}  // namespace

/// Keras 2 up to 2.12 also wrote this format to `.keras` files.
constexpr ModelFormat legacy_h5_format{.extension = ".h5",
                                       .other_extension = ".hdf5",
                                       .form = ConfigForm::legacy_h5,
                                       .recognizes = hdf5::is_hdf5,
                                       .contents = legacy_contents,
                                       .read_config = read_legacy_config,
                                       .read_weights = set_legacy_weights};

bool holds_legacy_weights(const hdf5::Reader& file) {
  return file.has_group(weights_group) || file.has_attribute("/", "layer_names");
}

WeightValues read_legacy_weights(const hdf5::Reader& file, const Network& network, const LoadWeightsOptions& options) {
  const std::vector<std::string> groups = groups_with_weights(file);
  const Json config = read_json(file, "model_config").value_or(Json::object());
  if (options.by_name)
    return read_holders(file, config, holders_by_name(file, groups, keras_model(network, ""), options), options);
  std::vector<Holder> holders = holders_with_weights(flat_keras_model(network, ""));
  if (std::vector<Holder> nested = holders_with_weights(keras_model(network, ""));
      !match(file, groups, holders) && groups.size() == nested.size())
    holders = std::move(nested);
  if (groups.size() == 1 && holders.size() > 1)
    if (const std::optional<Holder> joined = joined_if_nested(file, groups.front(), network)) holders = {*joined};
  require<InputError>(groups.size() == holders.size(), "{}: the model has {} layers with weights, the file has {}",
                      file.path(), holders.size(), groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) holders[i].group = groups[i];
  return read_holders(file, config, holders, options);
}

}  // namespace lockstep
