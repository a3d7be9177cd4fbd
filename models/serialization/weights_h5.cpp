#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lockstep/models/graph/naming.h>
#include <lockstep/models/serialization/hdf5_file.h>
#include <lockstep/models/serialization/keras_order.h>
#include <lockstep/models/serialization/weights_h5.h>

namespace lockstep {
namespace {

// The layout, which Keras' saving_lib.py defines: the variables of a layer are the data sets "0", "1", ... of the group
// "layers/<key>/vars". The key is the class in snake case, with a count for its second, third, ... layer in the order
// of `model.layers`, and is independent of the layer's name, which is an attribute. Layers without weights and the
// model itself have such a group, too, which stays empty, and so does that of a recurrent layer, which has its weights
// in the group of its cell, "layers/<key>/cell/vars".

const std::string layers_group = "layers";
const std::string model_group = "vars";

struct LayerGroup {
  std::string path;  ///< "layers/conv2d_1"
  const Layer* layer;

  std::string vars() const { return fmt::format("{}/{}", path, layer->impl().weights_group()); }
  std::string dataset(std::size_t variable) const { return fmt::format("{}/{}", vars(), variable); }
  const std::vector<Variable>& variables() const { return layer->impl().variables(); }
};

std::vector<LayerGroup> layer_groups(const Network& network) {
  std::vector<LayerGroup> groups;
  std::map<std::string, int> used;
  for (const int index : keras_layer_order(network.calls(), network.outputs(), network.layers().size())) {
    const Layer& layer = network.layers()[index];
    const std::string name = snake_case(layer.impl().class_name());
    const int count = used[name]++;
    const std::string key = count == 0 ? name : fmt::format("{}_{}", name, count);
    groups.push_back({.path = layers_group + "/" + key, .layer = &layer});
  }
  return groups;
}

void add_empty_group(hdf5::Writer& file, const std::string& vars, const std::string& name) {
  file.add_group(vars);
  file.add_attribute(vars, "name", name);
}

/// Throws unless the file holds as many variables of this layer as the model.
void check_variables(const hdf5::Reader& file, const LayerGroup& group) {
  const std::size_t count = group.variables().size();
  if (count == 0) return;  // nothing is read: what the file may hold is found as unknown
  const std::string& layer = group.layer->name();
  require<InputError>(file.has_group(group.vars()), "{}: has no weights for layer '{}': there is no group {:?}",
                      file.path(), layer, group.vars());
  const std::size_t found = file.names_in(group.vars()).size();
  require<InputError>(found == count, "{}: layer '{}' has {} weights, group {:?} has {}", file.path(), layer, count,
                      group.vars(), found);
}

/// Throws when the file holds weights that the model has no place for.
void check_nothing_else(const hdf5::Reader& file, const std::vector<LayerGroup>& groups) {
  std::set<std::string> known;
  for (const LayerGroup& group : groups) {
    if (!group.variables().empty()) known.insert(group.vars());
  }
  const auto check = [&](const std::string& vars) {
    require<InputError>(known.contains(vars) || file.names_in(vars).empty(),
                        "{}: has weights that the model lacks: group {:?} has {}", file.path(), vars,
                        file.names_in(vars).size());
  };
  check(model_group);
  const auto check_layer = [&](const std::string& path, bool is_cell) {
    check(path + "/vars");
    for (const std::string& part : file.names_in(path)) {
      require<InputError>(part == "vars" || part == "seed_generator" || (part == "cell" && !is_cell),
                          "{}: has a layer that the model lacks: {:?}", file.path(), path + "/" + part);
    }
  };
  for (const std::string& layer : file.names_in(layers_group)) {
    const std::string path = layers_group + "/" + layer;
    check_layer(path, false);
    check_layer(path + "/cell", true);
  }
}

Tensor read_variable(const hdf5::Reader& file, const LayerGroup& group, std::size_t index) {
  const Variable& variable = group.variables()[index];
  const Shape found = file.shape_of(group.dataset(index));
  require<InputError>(found == variable.shape(), "{}: weight '{}' has shape {}, {:?} has {}", file.path(),
                      variable.name(), variable.shape(), group.dataset(index), found);
  const Tensor value = Tensor::empty(variable.shape());
  file.read(group.dataset(index), value.span<float>());
  return value;
}

void check_outside_replica(const char* what) {
  require<LogicError>(!current_context().in_replica(), "{} works on all replicas' weights; call it outside a replica",
                      what);
}

}  // namespace

void save_weights(const Network& network, const std::string& path) {
  check_outside_replica("save_weights");
  hdf5::Writer file(static_cast<std::size_t>(network.count_params()) * sizeof(float));
  add_empty_group(file, model_group, "functional");
  for (std::size_t i = 0; i < network.inputs().size(); ++i) {
    const std::string key = i == 0 ? "input_layer" : fmt::format("input_layer_{}", i);
    add_empty_group(file, fmt::format("{}/{}/vars", layers_group, key), network.inputs()[i].name);
  }
  for (const LayerGroup& group : layer_groups(network)) {
    const std::string own = group.path + "/vars";
    add_empty_group(file, own, group.layer->name());
    if (group.vars() != own)
      add_empty_group(file, group.vars(), snake_case(group.layer->impl().class_name()) + "_cell");
    for (std::size_t i = 0; i < group.variables().size(); ++i) {
      const Variable& variable = group.variables()[i];
      file.add_dataset(group.dataset(i), variable.value().to_vector<float>(), variable.shape());
    }
  }
  file.write_to(path);
}

void load_weights(const Network& network, const std::string& path) {
  check_outside_replica("load_weights");
  const hdf5::Reader file(path);
  require<InputError>(file.has_group(layers_group), "{}: this is not Keras 3's .weights.h5: there is no group {:?}",
                      path, layers_group);
  const std::vector<LayerGroup> groups = layer_groups(network);
  for (const LayerGroup& group : groups) check_variables(file, group);
  check_nothing_else(file, groups);
  std::vector<std::pair<Variable, Tensor>> values;
  for (const LayerGroup& group : groups) {
    for (std::size_t i = 0; i < group.variables().size(); ++i) {
      values.emplace_back(group.variables()[i], read_variable(file, group, i));
    }
  }
  for (const auto& [variable, value] : values) variable.assign(value);
}

}  // namespace lockstep
