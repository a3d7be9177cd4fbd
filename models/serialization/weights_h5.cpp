#include "lockstep/models/serialization/weights_h5.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/legacy_file.h>

namespace lockstep {
namespace {

// The layout, which Keras' saving_lib.py defines: the variables of a layer are the data sets "0", "1", ... of the group
// "layers/<key>/vars". The key is the class in snake case, with a count for its second, third, ... layer in the order
// of `model.layers`, and is independent of the layer's name, which is an attribute. Layers without weights and the
// model itself have such a group, too, which stays empty, and so does that of a recurrent layer, which has its weights
// in the group of its cell, "layers/<key>/cell/vars". A model that is a layer has its own "layers" in its group, which
// hold a layer that stands in several places in the first one only.

const std::string layers_group = "layers";
const std::string old_layers_group = "_layer_checkpoint_dependencies";  // of tf_keras 2.12 to 2.14, at every level
const std::string model_group = "vars";

std::string vars_of(const WeightsGroup& group) {
  return fmt::format("{}/{}", group.path, group.layer.impl().weights_group());
}
std::string dataset_of(const WeightsGroup& group, std::size_t variable) {
  return fmt::format("{}/{}", vars_of(group), variable);
}
const std::vector<Variable>& variables_of(const WeightsGroup& group) { return group.layer.impl().variables(); }

/// The groups of a model.
class Groups {
 public:
  /// What has no weights of its own: an input, or a model that is a layer.
  struct Other {
    std::string path;
    std::string name;
  };

  explicit Groups(const NestedModel& model) { add(model, ""); }

  const std::vector<WeightsGroup>& layers() const { return layers_; }
  const std::vector<Other>& others() const { return others_; }

 private:
  void add(const NestedModel& in, const std::string& around) {
    std::map<std::string, int> used;
    const auto group = [&](std::string_view class_name) {
      const std::string key = snake_case(class_name);
      const int count = used[key]++;
      return fmt::format("{}{}/{}{}", around, layers_group, key, count == 0 ? "" : fmt::format("_{}", count));
    };
    if (in.class_name != "Sequential")  // which lists no inputs
      for (const NetworkInput& input : in.inputs) others_.push_back({.path = group("InputLayer"), .name = input.name});
    for (const auto& [layer, model] : in.layers) {
      const std::string path = group(layer ? layer->impl().class_name() : model->class_name);
      if (!seen_.insert(layer ? static_cast<const void*>(&layer->impl()) : model.get()).second) continue;
      if (layer) {
        layers_.push_back({.path = path, .layer = *layer});
      } else {
        others_.push_back({.path = path, .name = model->name});
        add(*model, path + "/");
      }
    }
  }

  std::set<const void*> seen_;
  std::vector<WeightsGroup> layers_;
  std::vector<Other> others_;
};

void add_empty_group(hdf5::Writer& file, const std::string& vars, const std::string& name) {
  file.add_group(vars);
  file.add_attribute(vars, "name", name);
}

/// Throws unless the file holds as many variables of this layer as the model.
void check_variables(const hdf5::Reader& file, const WeightsGroup& group) {
  const std::size_t count = variables_of(group).size();
  if (count == 0) return;  // nothing is read: what the file may hold is found as unknown
  const std::string& layer = group.layer.name();
  require<InputError>(file.has_group(vars_of(group)), "{}: has no weights for layer '{}': there is no group {:?}",
                      file.path(), layer, vars_of(group));
  const std::size_t found = file.names_in(vars_of(group)).size();
  require<InputError>(found == count, "{}: layer '{}' has {} weights, group {:?} has {}", file.path(), layer, count,
                      vars_of(group), found);
}

/// Whether the file has something of each layer with weights.
bool has_all(const hdf5::Reader& file, const std::vector<WeightsGroup>& groups) {
  return std::ranges::all_of(
      groups, [&](const WeightsGroup& group) { return variables_of(group).empty() || file.has_group(vars_of(group)); });
}

/// The groups under the name that the file has for a model's layers.
std::vector<WeightsGroup> groups_in(const hdf5::Reader& file, std::vector<WeightsGroup> groups) {
  if (file.has_group(layers_group)) return groups;
  require<InputError>(file.has_group(old_layers_group), "{}: this is not Keras 3's .weights.h5: there is no group {:?}",
                      file.path(), layers_group);
  for (WeightsGroup& group : groups) {  // "layers/<key>/layers/<key>"
    std::string renamed;
    std::size_t component = 0;
    for (const auto part : std::views::split(group.path, '/')) {
      const std::string_view name(part.begin(), part.end());
      fmt::format_to(std::back_inserter(renamed), "{}{}", component == 0 ? "" : "/",
                     component % 2 == 0 ? std::string_view(old_layers_group) : name);
      ++component;
    }
    group.path = renamed;
  }
  return groups;
}

/// Throws when the file holds weights that the model has no place for.
class UnknownWeights {
 public:
  UnknownWeights(const hdf5::Reader& file, const std::vector<WeightsGroup>& groups) : file_(file) {
    for (const WeightsGroup& group : groups) {
      if (!variables_of(group).empty()) known_.insert(vars_of(group));
      for (std::size_t end = group.path.find('/'); end != std::string::npos; end = group.path.find('/', end + 1))
        on_the_way_.insert(group.path.substr(0, end));
    }
  }

  void check_model() const {
    check_vars(model_group);
    check_layers(file_.has_group(layers_group) ? layers_group : old_layers_group);
  }

 private:
  void check_vars(const std::string& vars) const {
    require<InputError>(known_.contains(vars) || file_.names_in(vars).empty(),
                        "{}: has weights that the model lacks: group {:?} has {}", file_.path(), vars,
                        file_.names_in(vars).size());
  }

  void check_layers(const std::string& layers) const {
    for (const std::string& layer : file_.names_in(layers)) {
      const std::string path = layers + "/" + layer;
      check_layer(path, on_the_way_.contains(path));
      check_layer(path + "/cell", true);
    }
  }

  /// Whether the layers of a model, and of models in it, all stand in others' groups; false, too, where it is in more
  /// than 20 others or more than 200 have been looked at: a file's links may go in a circle, or by many ways to one.
  bool holds_nothing(const std::string& layers, int& looked_at, int within = 0) const {
    if (within > 20 || ++looked_at > 200) return false;
    return std::ranges::all_of(file_.names_in(layers), [&](const std::string& layer) {
      const std::string path = layers + "/" + layer;
      return std::ranges::all_of(file_.names_in(path), [&](const std::string& part) {
        if (part == layers_group) return holds_nothing(path + "/" + part, looked_at, within + 1);
        return part == "vars" && file_.names_in(path + "/vars").empty();
      });
    });
  }

  /// `inner`: a cell, or a model that is a layer, whose optimizer and metrics Keras saves with it.
  void check_layer(const std::string& path, bool inner) const {
    check_vars(path + "/vars");
    for (const std::string& part : file_.names_in(path)) {
      const std::string whole = path + "/" + part;
      if (on_the_way_.contains(whole)) {
        check_layers(whole);
        continue;
      }
      if (int looked_at = 0; part == layers_group && holds_nothing(whole, looked_at)) continue;
      const bool is_known = inner ? part == "optimizer" || part == "metrics" : part == "cell";
      require<InputError>(is_known || part == "vars" || part == "seed_generator",
                          "{}: has a layer that the model lacks: {:?}", file_.path(), whole);
    }
  }

  const hdf5::Reader& file_;
  std::set<std::string> known_;
  std::set<std::string> on_the_way_;  ///< groups that known ones lie in
};

Tensor read_variable(const hdf5::Reader& file, const WeightsGroup& group, std::size_t index) {
  const Variable& variable = variables_of(group)[index];
  const Shape found = file.shape_of(dataset_of(group, index));
  require<InputError>(found == variable.shape(), "{}: weight '{}' has shape {}, {:?} has {}", file.path(),
                      variable.name(), variable.shape(), dataset_of(group, index), found);
  const Tensor value = Tensor::empty(variable.shape());
  file.read(dataset_of(group, index), value.span<float>());
  return value;
}

}  // namespace

void write_weights(hdf5::Writer& file, const NestedModel& model) {
  add_empty_group(file, model_group, "functional");
  const Groups groups(model);
  for (const Groups::Other& other : groups.others()) add_empty_group(file, other.path + "/vars", other.name);
  for (const WeightsGroup& group : groups.layers()) {
    const std::string own = group.path + "/vars";
    add_empty_group(file, own, group.layer.name());
    if (vars_of(group) != own)
      add_empty_group(file, vars_of(group), snake_case(group.layer.impl().class_name()) + "_cell");
    for (std::size_t i = 0; i < variables_of(group).size(); ++i) {
      const Variable& variable = variables_of(group)[i];
      file.add_dataset(dataset_of(group, i), variable.value().to_vector<float>(), variable.shape());
    }
  }
}

void read_weights(const hdf5::Reader& file, const std::vector<WeightsGroup>& all) {
  const std::vector<WeightsGroup> groups = groups_in(file, all);
  for (const WeightsGroup& group : groups) check_variables(file, group);
  UnknownWeights(file, groups).check_model();
  std::vector<std::pair<Variable, Tensor>> values;
  for (const WeightsGroup& group : groups) {
    for (std::size_t i = 0; i < variables_of(group).size(); ++i)
      values.emplace_back(variables_of(group)[i], read_variable(file, group, i));
  }
  for (const auto& [variable, value] : values) variable.assign(value);
}

namespace {

std::vector<std::byte> contents_of(const Network& network) {
  hdf5::Writer file(static_cast<std::size_t>(network.count_params()) * sizeof(float));
  write_weights(file, keras_model(network, ""));
  return file.image();
}

/// The state of Keras' optimizer and random generators is passed over. Legacy files of weights or whole models are
/// read, too, and files that have the layers of models in this one as its own.
void load(const Network& network, const std::string& path) {
  const hdf5::Reader file(path);
  if (holds_legacy_weights(file)) return load_legacy_weights(file, network);
  const std::vector<WeightsGroup> nested = Groups(keras_model(network, "")).layers();
  const std::vector<WeightsGroup> flat = Groups(flat_keras_model(network, "")).layers();
  read_weights(file, !has_all(file, nested) && has_all(file, flat) ? flat : nested);
}

}  // namespace

constexpr WeightsFormat weights_h5_format{.extension = ".weights.h5", .contents = contents_of, .load = load};

}  // namespace lockstep
