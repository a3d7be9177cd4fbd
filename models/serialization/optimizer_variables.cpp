#include "lockstep/models/serialization/optimizer_variables.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

#include <fmt/core.h>

#include <lockstep/models/layers/naming.h>
#include <lockstep/models/optimizers/optimizer_config.h>

namespace lockstep {
namespace {

const char* const excluded_attribute = "exclude_from_weight_decay";
const char* const clip_attribute = "clip_before_aggregate";
const char* const own_attribute = "without_aggregate";

const std::string average = "average";
const std::string sums = "gradient_accumulator";  // Keras' accumulated gradients, not saved here

/// Names of the slots in Keras' order. The order is by inner list, then by variable, then by slot within the inner
/// list.
using Layout = std::vector<std::vector<std::string>>;

Layout layout_of(const OptimizerConfig& config) {
  Layout layout;
  if (config.common.use_ema) layout.push_back({average});
  if (config.common.gradient_accumulation_steps > 1) layout.push_back({sums});
  layout.insert(layout.end(), config.slots.begin(), config.slots.end());
  return layout;
}

/// For each variable in Keras' order, its number in the optimizer's order.
std::vector<std::size_t> numbers_in_optimizer(const TrainedVariables& trained) {
  std::unordered_map<const VariableState*, std::size_t> numbers;
  for (const Variable& variable : trained.variables) numbers.emplace(&variable.state(), numbers.size());
  std::vector<std::size_t> result;
  for (const Variable& variable : trained.in_keras_order) {
    const auto found = numbers.find(&variable.state());
    require<BrokenInvariant>(found != numbers.end(), "the optimizer does not train '{}'", variable.name());
    result.push_back(found->second);
  }
  return result;
}

/// "dense/kernel" -> "dense_kernel_momentum"
std::string slot_name(const Variable& variable, const std::string& slot) {
  std::string name = variable.name();
  std::ranges::replace(name, '/', '_');
  return fmt::format("{}_{}", name, slot);
}

void check_trained(const OptimizerState& state, const std::vector<Variable>& variables) {
  for (const OptimizerState::Slot& slot : state.slots) {
    const bool same = std::ranges::equal(
        slot.values, variables, {}, [](const Tensor& value) { return value.shape(); },
        [](const Variable& variable) { return variable.shape(); });
    require(same, "the optimizer has trained other variables than the model's {} trainable ones; compile another one",
            variables.size());
  }
}

/// A variable's shape without the axis that files leave out of a slot. The axis is negative, or 0 if no axis is left
/// out.
Shape shape_in_files(const Shape& shape, int left_out_axis) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (left_out_axis == 0 || axis != shape.rank() + left_out_axis) result.push_back(shape[axis]);
  return result;
}

Tensor read_value(const hdf5::Reader& file, const std::string& dataset, const Variable& variable, int left_out_axis) {
  const Shape shape = file.shape_of(dataset);
  const Shape wanted = shape_in_files(variable.shape(), left_out_axis);
  require<InputError>(shape == wanted, "{}: weight '{}' has shape {}, its optimizer state in {:?} {}", file.path(),
                      variable.name(), variable.shape(), dataset, shape);
  const Tensor value = Tensor::empty(shape);
  file.read(dataset, value.span<float>());
  if (left_out_axis == 0) return value;
  Shape repeated = variable.shape();
  repeated[repeated.rank() + left_out_axis] = 1;
  const Tensor whole = value.view(repeated).broadcast_view(variable.shape());
  return Tensor::from(whole.to_vector<float>(), variable.shape());
}

/// The stored learning rate, or the configured one, which has more digits, if both are equal in f32.
double read_learning_rate(const hdf5::Reader& file, const std::string& dataset, double configured) {
  require<InputError>(file.shape_of(dataset).elements() == 1, "{}: the learning rate in {:?} is not one number",
                      file.path(), dataset);
  float rate = 0;
  file.read(dataset, std::span(&rate, 1));
  return rate == static_cast<float>(configured) ? configured : static_cast<double>(rate);
}

/// A slot of a variable.
struct Place {
  std::string slot;
  Variable variable;
  std::size_t number;   ///< the variable's number in the optimizer's order
  bool is_kept = true;  ///< if not, files have an integer in its place
};

/// All slots in the order of a file, in which they follow the number of steps and the learning rate.
std::vector<Place> places_of(const OptimizerConfig& config, const TrainedVariables& trained,
                             OptimizerDatasets::Order order) {
  const std::vector<Variable>& variables = trained.in_keras_order;
  const std::vector<std::size_t> numbers = numbers_in_optimizer(trained);
  std::vector<Place> places;
  for (const std::vector<std::string>& slots : layout_of(config)) {
    if (order == OptimizerDatasets::Order::keras_2) {
      for (const std::string& slot : slots)
        for (std::size_t i = 0; i < variables.size(); ++i) places.push_back({slot, variables[i], numbers[i]});
    } else {
      for (std::size_t i = 0; i < variables.size(); ++i)
        for (const std::string& slot : slots) places.push_back({slot, variables[i], numbers[i]});
    }
  }
  for (Place& place : places) place.is_kept = config.has_slot(place.slot, place.variable);
  std::erase_if(places, [&](const Place& place) { return !place.is_kept && config.left_out_axis(place.slot) == 0; });
  return places;
}

/// The values of all slots by name; each list is in the optimizer's order of variables.
std::map<std::string, std::vector<Tensor>> read_slots(const hdf5::Reader& file, std::span<const std::string> datasets,
                                                      const OptimizerConfig& config, const std::vector<Place>& places,
                                                      const TrainedVariables& trained) {
  std::map<std::string, std::vector<Tensor>> values;
  auto dataset = datasets.begin();
  for (const auto& [slot, variable, number, is_kept] : places) {
    values[slot].resize(trained.variables.size());
    if (!is_kept) {
      ++dataset;
      continue;
    }
    values[slot][number] = read_value(file, *dataset++, variable, config.left_out_axis(slot));
  }
  for (const std::vector<std::string>& slots : layout_of(config))
    for (const std::string& slot : slots) {
      values[slot].resize(trained.variables.size());
      for (std::size_t i = 0; i < values[slot].size(); ++i)  // slots that Keras does not keep are 0
        if (!values[slot][i].defined()) values[slot][i] = Tensor::zeros(trained.variables[i].shape());
    }
  return values;
}

/// The slots in the optimizer's order: the slots of its rule, then the average.
std::vector<OptimizerState::Slot> ordered(const Layout& layout,
                                          const std::map<std::string, std::vector<Tensor>>& values) {
  std::vector<OptimizerState::Slot> result;
  for (const std::vector<std::string>& slots : layout)
    for (const std::string& slot : slots)
      if (slot != average && slot != sums) result.push_back({.name = slot, .values = values.at(slot)});
  if (values.contains(average)) result.push_back({.name = average, .values = values.at(average)});
  return result;
}

Optimizer with_attributes(const hdf5::Reader& file, const std::string& group, const Optimizer& optimizer) {
  OptimizerConfig config = optimizer.config();
  if (file.has_attribute(group, excluded_attribute))
    config.common.exclude_from_weight_decay = file.attribute(group, excluded_attribute);
  config.common.clip_before_aggregate = file.has_attribute(group, clip_attribute);
  config.common.aggregate = !file.has_attribute(group, own_attribute);
  return optimizer_from_config(config);
}

}  // namespace

std::size_t bytes_of_optimizer(const Training& training) {
  std::size_t slots = 0;
  for (const std::vector<std::string>& list : layout_of(training.config.optimizer.config())) slots += list.size();
  std::size_t elements = 0;
  for (const Variable& variable : training.trained.variables)
    elements += static_cast<std::size_t>(variable.shape().elements());
  return slots * elements * sizeof(float);
}

std::vector<std::string> write_optimizer(hdf5::Writer& file, const std::string& group, const Training& training,
                                         const std::function<std::string(std::size_t, const std::string&)>& dataset) {
  const OptimizerConfig config = training.config.optimizer.config();
  const OptimizerState state = training.config.optimizer.state();
  check_trained(state, training.trained.variables);
  file.add_group(group);
  if (!config.common.exclude_from_weight_decay.empty())
    file.add_attribute(group, excluded_attribute, config.common.exclude_from_weight_decay);
  if (config.common.clip_before_aggregate) file.add_attribute(group, clip_attribute, std::string("true"));
  if (!config.common.aggregate) file.add_attribute(group, own_attribute, std::string("true"));
  UniqueNames unique;  // layers of nested models may share names; "a/b" and "a_b" give the same name
  std::vector<std::string> names;
  const auto add_name = [&](const std::string& name) {
    names.push_back(dataset(names.size(), unique.make(name)));
    return names.back();
  };
  file.add_integer(add_name("iteration"), state.steps);
  if (!schedule_config(config.learning_rate)) {
    const auto rate = static_cast<float>(state.learning_rate);
    file.add_dataset(add_name("learning_rate"), std::span(&rate, 1), {});
  }
  if (state.slots.empty() && state.steps == 0) return names;
  for (const auto& [slot, variable, number, is_kept] :
       places_of(config, training.trained, OptimizerDatasets::Order::keras_3)) {
    if (!is_kept) {
      file.add_integer(add_name(slot_name(variable, slot)), 0);
      continue;
    }
    const auto kept = std::ranges::find(state.slots, slot, &OptimizerState::Slot::name);
    require<BrokenInvariant>(kept != state.slots.end() || slot == sums, "the optimizer keeps no {}", slot);
    Tensor value = slot == sums ? Tensor::zeros(variable.shape()) : kept->values[number];
    const int left_out = config.left_out_axis(slot);
    if (left_out != 0) value = value.slice_view(left_out, 0, 1);
    file.add_dataset(add_name(slot_name(variable, slot)), value.to_vector<float>(),
                     shape_in_files(variable.shape(), left_out));
  }
  for (const double scalar : config.scalars) {
    const auto value = static_cast<float>(scalar);
    file.add_dataset(add_name("variable"), std::span(&value, 1), {});
  }
  return names;
}

Optimizer read_optimizer(const hdf5::Reader& file, const std::string& group, const OptimizerDatasets& datasets,
                         const Training& training) {
  const auto& [names, order, counts_first] = datasets;
  const Optimizer optimizer = with_attributes(file, group, training.config.optimizer);
  if (names.empty()) return optimizer;
  const OptimizerConfig config = optimizer.config();
  const Layout layout = layout_of(config);
  const std::vector<Place> places = places_of(config, training.trained, order);
  // RMSprop and Adagrad did not count steps until Keras 2.3.
  const bool counts_steps =
      order != OptimizerDatasets::Order::keras_2 || names.front().find("/iter") != std::string::npos;
  const bool has_rate = order == OptimizerDatasets::Order::keras_3 && !config.learning_rate.is_schedule();
  const std::size_t counts = std::size_t{counts_steps} + std::size_t{has_rate};
  const std::size_t all = counts + places.size() + config.scalars.size();
  // Keras 2 also stores slots of options that are off.
  const bool is_whole = order == OptimizerDatasets::Order::keras_3 ? names.size() == all : names.size() >= all;
  require<InputError>(names.size() == counts || is_whole,
                      "{}: the optimizer {} has {} variables for this model, the file has {}", file.path(),
                      config.rule.class_name, all, names.size());
  // Clipped, because the addition must not overflow; load_state refuses such a number.
  const std::int64_t counted = counts_steps ? std::min(file.read_integer(names[0]), std::int64_t{1} << 62) : 0;
  OptimizerState state{.steps = counts_steps ? counted + std::int64_t{counts_first} : 0,
                       .learning_rate = optimizer.learning_rate(),
                       .slots = {}};
  if (has_rate) state.learning_rate = read_learning_rate(file, names[1], state.learning_rate);
  if (is_whole && !places.empty())
    state.slots = ordered(layout, read_slots(file, std::span(names).subspan(counts), config, places, training.trained));
  try {
    optimizer.load_state(state);
  } catch (const InvalidArgument& error) {
    fail<InputError>("{}: {}", file.path(), error.what());
  }
  return optimizer;
}

}  // namespace lockstep
