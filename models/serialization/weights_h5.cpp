#include "lockstep/models/serialization/weights_h5.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/files/zip_file.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/inner_model.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/legacy_file.h>

namespace lockstep {
namespace {

// The layout is defined by Keras' saving_lib.py. The variables of a layer are the data sets "0", "1", ... of the group
// "layers/<key>/vars". The key is the class name in snake case, with a number from the second layer of the class on, in
// the order of `model.layers`; the layer's name is only an attribute. Layers without weights and the model itself have
// an empty group "vars". So does a recurrent layer, whose weights are in the group of its cell,
// "layers/<key>/cell/vars"; the weights of an attention layer are in the groups of its inner layers. A layer
// inside another layer has a group in the outer layer's group, such as "layers/<key>/forward_layer". The group of a
// nested model contains another group "layers". A layer that is used in several places is stored only in the first of
// them.

const std::string layers_group = "layers";
const std::string old_layers_group = "_layer_checkpoint_dependencies";  // name in tf_keras 2.12 to 2.14, at every level
const std::string model_group = "vars";

/// A group "vars", and the variables that it holds.
struct VariablesGroup {
  std::string path;
  std::string name;  ///< name of the layer or its inner layer
  std::span<const Variable> variables;

  std::string dataset(std::size_t variable) const { return fmt::format("{}/{}", path, variable); }
};

/// The variables that belong to the group itself. The variables of inner layers are in the inner layers' groups.
std::vector<VariablesGroup> variables_of(const WeightsGroup& group) {
  if (!group.layer.impl().inner_layers().empty()) return {};
  std::span<const Variable> rest = group.layer.impl().variables();
  std::vector<VariablesGroup> result;
  for (const WeightsPart& part : group.layer.impl().weights_parts()) {
    result.push_back({.path = fmt::format("{}/{}", group.path, part.group),
                      .name = part.name.empty() ? group.layer.name() : part.name,
                      .variables = rest.first(part.count)});
    rest = rest.subspan(part.count);
  }
  return result;
}

/// Whether Keras' recurrent and attention layers, or layers whose activation is a layer, have a part of this name.
bool is_part(std::string_view part) {
  return part == "cell" || part.ends_with("_dense") || part == "_softmax" || part == "_dropout_layer" ||
         part.ends_with("activation");
}

/// The groups, each followed by the groups of the layers inside its layer.
std::vector<WeightsGroup> with_inner_layers(std::vector<WeightsGroup> groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<WeightsGroup> inside;
    for (const InnerLayer& inner : groups[i].layer.impl().inner_layers())
      inside.push_back({.path = fmt::format("{}/{}", groups[i].path, inner.group), .layer = Layer(inner.layer)});
    groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(i) + 1, inside.begin(), inside.end());
  }
  return groups;
}

/// The groups of a model.
class Groups {
 public:
  /// The group of an input or nested model, which has no weights of its own.
  struct Other {
    std::string path;
    std::string name;
  };

  explicit Groups(const NestedModel& model) { add(model, ""); }

  /// The groups of layers, without the layers inside layers.
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
    if (in.class_name != "Sequential")  // Sequential models list no inputs
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

/// Throws InputError unless the file holds as many variables of this part of a layer as the model.
void check_variables(const hdf5::Reader& file, const VariablesGroup& part, const std::string& layer) {
  const std::size_t count = part.variables.size();
  if (count == 0) return;  // nothing to read; UnknownWeights finds weights that the file has here
  require<InputError>(file.has_group(part.path), "{}: has no weights for layer '{}': there is no group {:?}",
                      file.path(), layer, part.path);
  const std::size_t found = file.names_in(part.path).size();
  require<InputError>(found == count, "{}: layer '{}' has {} weights, group {:?} has {}", file.path(), layer, count,
                      part.path, found);
}

/// Whether the file has a group for each layer with weights.
bool has_all(const hdf5::Reader& file, const std::vector<WeightsGroup>& layers) {
  return std::ranges::all_of(with_inner_layers(layers), [&](const WeightsGroup& group) {
    return std::ranges::all_of(variables_of(group), [&](const VariablesGroup& part) {
      return part.variables.empty() || file.has_group(part.path);
    });
  });
}

/// The groups, renamed if the file uses old_layers_group instead of layers_group.
std::vector<WeightsGroup> groups_in(const hdf5::Reader& file, std::vector<WeightsGroup> groups) {
  if (file.has_group(layers_group)) return groups;
  require<InputError>(file.has_group(old_layers_group), "{}: this is not Keras 3's .weights.h5: there is no group {:?}",
                      file.path(), layers_group);
  for (WeightsGroup& group : groups) {  // "layers/<key>/layers/<key>"
    std::string renamed;
    for (const auto part : std::views::split(group.path, '/')) {
      const std::string_view name(part.begin(), part.end());
      fmt::format_to(std::back_inserter(renamed), "{}{}", renamed.empty() ? "" : "/",
                     name == layers_group ? std::string_view(old_layers_group) : name);
    }
    group.path = renamed;
  }
  return groups;
}

/// Detects weights and layers in the file that the model does not have.
class UnknownWeights {
 public:
  UnknownWeights(const hdf5::Reader& file, const std::vector<WeightsGroup>& groups) : file_(file) {
    for (const WeightsGroup& group : groups) {
      paths_.insert(group.path);
      for (const VariablesGroup& part : variables_of(group))
        if (!part.variables.empty()) known_.insert(part.path);
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
      check_layer_with_parts(path, on_the_way_.contains(path) && !paths_.contains(path));
    }
  }

  void check_layer_with_parts(const std::string& path, bool inner) const {
    check_layer(path, inner);
    for (const std::string& part : file_.names_in(path))
      if (is_part(part) && !paths_.contains(path + "/" + part)) check_layer(path + "/" + part, true);
  }

  /// Whether a nested model's groups hold no weights at any depth, because all its layers are stored elsewhere. False
  /// beyond 20 levels or 200 models, because hard links in a file may form cycles or lead to the same group on many
  /// paths.
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

  /// `inner`: whether the path is a part of a layer or a nested model, with which Keras stores its optimizer and
  /// metrics. Follows only paths of layers that the model has, so that it ends in spite of cycles in the file.
  void check_layer(const std::string& path, bool inner) const {
    check_vars(path + "/vars");
    for (const std::string& part : file_.names_in(path)) {
      const std::string whole = path + "/" + part;
      if (paths_.contains(whole)) {
        check_layer_with_parts(whole, false);
        continue;
      }
      if (on_the_way_.contains(whole)) {
        check_layers(whole);
        continue;
      }
      if (int looked_at = 0; part == layers_group && holds_nothing(whole, looked_at)) continue;
      const bool is_known = inner ? part == "optimizer" || part == "metrics" : is_part(part);
      require<InputError>(is_known || part == "vars" || part == "seed_generator",
                          "{}: has a layer that the model lacks: {:?}", file_.path(), whole);
    }
  }

  const hdf5::Reader& file_;
  std::set<std::string> paths_;  ///< groups of the model's layers
  std::set<std::string> known_;
  std::set<std::string> on_the_way_;  ///< parent groups of known groups
};

Tensor read_variable(const hdf5::Reader& file, const std::string& dataset, const Variable& variable) {
  check_is_f32(variable, keras_files);
  const Shape found = file.shape_of(dataset);
  require<InputError>(found == variable.shape(), "{}: weight '{}' has shape {}, {:?} has {}", file.path(),
                      variable.name(), variable.shape(), dataset, found);
  const Tensor value = Tensor::empty(variable.shape());
  file.read(dataset, value.span<float>());
  return value;
}

}  // namespace

std::vector<WeightsGroup> layer_groups(const NestedModel& model) { return Groups(model).layers(); }

void write_weights(hdf5::Writer& file, const NestedModel& model) {
  add_empty_group(file, model_group, "functional");
  const Groups groups(model);
  for (const Groups::Other& other : groups.others()) add_empty_group(file, other.path + "/vars", other.name);
  for (const WeightsGroup& group : with_inner_layers(groups.layers())) {
    const std::string own = group.path + "/vars";
    add_empty_group(file, own, group.layer.name());
    if (const NestedModel* const inner = inner_model_description(group.layer.impl())) {
      const Groups inside(*inner);
      for (const Groups::Other& other : inside.others())
        add_empty_group(file, fmt::format("{}/{}/vars", group.path, other.path), other.name);
    }
    for (const VariablesGroup& part : variables_of(group)) {
      if (part.path != own) add_empty_group(file, part.path, part.name);
      for (std::size_t i = 0; i < part.variables.size(); ++i) {
        check_is_f32(part.variables[i], keras_files);
        file.add_dataset(part.dataset(i), part.variables[i].value().to_vector<float>(), part.variables[i].shape());
      }
    }
  }
}

WeightValues read_weights(const hdf5::Reader& file, const std::vector<WeightsGroup>& layers,
                          const LoadWeightsOptions& options) {
  const std::vector<WeightsGroup> groups = groups_in(file, with_inner_layers(layers));
  const auto fits = [&](const auto& read) {
    try {
      read();
    } catch (const InputError& error) {
      options.skip(error.what(), false);
      return false;
    }
    return true;
  };
  const UnknownWeights unknown(file, groups);
  std::vector<VariablesGroup> parts;
  for (const WeightsGroup& group : groups)
    for (const VariablesGroup& part : variables_of(group))
      if (fits([&] { check_variables(file, part, group.layer.name()); })) parts.push_back(part);
  if (!options.ignore_extra) fits([&] { unknown.check_model(); });
  WeightValues values;
  for (const VariablesGroup& part : parts)
    fits([&] {  // as in Keras, the variables before the first one that does not fit are set
      for (std::size_t i = 0; i < part.variables.size(); ++i)
        values.emplace_back(part.variables[i], read_variable(file, part.dataset(i), part.variables[i]));
    });
  return values;
}

namespace {

std::vector<std::byte> h5_contents(const Network& network) {
  hdf5::Writer file(static_cast<std::size_t>(network.count_params()) * sizeof(float));
  write_weights(file, keras_model(network, ""));
  return file.image();
}

/// Implements WeightsFormat::read. Ignores the state of Keras' optimizer and random generators. Also reads the weights
/// of
/// `.keras` files and of legacy files, and files in which the layers of nested models are layers of the outer model.
WeightValues read_h5(const Network& network, const std::string& path, const LoadWeightsOptions& options) {
  const bool is_zip = path.ends_with(keras_format.extension) && !hdf5::is_hdf5(path);
  const hdf5::Reader file = is_zip ? hdf5::Reader(path, read_zip_entry(path, keras_weights_entry)) : hdf5::Reader(path);
  if (holds_legacy_weights(file)) return read_legacy_weights(file, network, options);
  require(!options.by_name, "{}: by_name is for Keras' legacy .h5 files and for .safetensors files", path);
  const std::vector<WeightsGroup> nested = layer_groups(keras_model(network, ""));
  const std::vector<WeightsGroup> flat = layer_groups(flat_keras_model(network, ""));
  return read_weights(file, !has_all(file, nested) && has_all(file, flat) ? flat : nested, options);
}

}  // namespace

constexpr WeightsFormat weights_h5_format{.extension = ".weights.h5", .contents = h5_contents, .read = read_h5};

}  // namespace lockstep
