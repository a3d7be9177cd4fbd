#include "lockstep/models/graph/keras_order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <utility>

namespace lockstep {
namespace {

struct Walk {
  std::vector<int> met;       ///< by layer: the number of layers that the walk reached before it
  std::vector<int> finished;  ///< calls, each after the calls that it reads
};

Walk walk_from_outputs(const std::vector<GraphCall>& calls, const std::vector<int>& outputs, std::size_t layers) {
  Walk walk{.met = std::vector<int>(layers, -1), .finished = {}};
  std::vector<bool> seen(calls.size(), false);
  std::vector<std::pair<int, std::size_t>> path;  // calls between the output and here, and their inputs done so far
  int count = 0;
  const auto enter = [&](int call) {
    seen[call] = true;
    int& met = walk.met[calls[call].layer];
    if (met < 0) met = count++;
    path.emplace_back(call, 0);
  };
  for (const int output : outputs) {
    if (output >= 0 && !seen[output]) enter(output);
    while (!path.empty()) {
      auto& [call, done] = path.back();
      if (done == calls[call].inputs.size()) {
        walk.finished.push_back(call);
        path.pop_back();
      } else if (const int input = calls[call].inputs[done++]; input >= 0 && !seen[input]) {
        enter(input);
      }
    }
  }
  return walk;
}

/// Distances from the outputs (`map_graph` in Keras' ops/function.py).
struct Depths {
  std::vector<int> of_layers;
  std::vector<int> of_calls;
  std::vector<int> met;    ///< see Walk::met
  std::vector<int> noted;  ///< the calls in the order in which a depth was first noted for each
};

Depths depths_of(const std::vector<GraphCall>& calls, const std::vector<int>& outputs, std::size_t layers) {
  Walk walk = walk_from_outputs(calls, outputs, layers);
  Depths depths{.of_layers = std::vector<int>(layers, 0),
                .of_calls = std::vector<int>(calls.size(), 0),
                .met = std::move(walk.met),
                .noted = {}};
  std::vector<bool> is_noted(calls.size(), false);
  const auto note = [&](int call, int depth) {
    if (!is_noted[call]) depths.noted.push_back(call);
    is_noted[call] = true;
    depths.of_calls[call] = std::max(depths.of_calls[call], depth);
  };
  for (const int call : walk.finished | std::views::reverse) {
    // A layer that is called several times has the distance of its farthest call so far, and its further calls get that
    // distance.
    int& layer_depth = depths.of_layers[calls[call].layer];
    note(call, layer_depth);
    layer_depth = depths.of_calls[call];
    for (const int input : calls[call].inputs)
      if (input >= 0) note(input, layer_depth + 1);
  }
  return depths;
}

/// By call of the network: whether an output depends on it.
std::vector<bool> lead_to_outputs(const Network& network) {
  std::vector<bool> leads(network.calls().size(), false);
  for (const int output : network.outputs())
    if (output >= 0) leads[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = leads.size(); i-- > 0;)
    for (const int input : network.calls()[i].inputs)
      if (leads[i] && input >= 0) leads[static_cast<std::size_t>(input)] = true;
  return leads;
}

/// The parts of a network, and their calls.
class Parts {
 public:
  /// If `nested` is false, all parts are layers.
  Parts(const Network& network, bool nested) : network_(network) {
    const std::vector<bool> leads = lead_to_outputs(network);
    for (std::size_t i = 0; i < network.calls().size(); ++i) {
      const GraphCall& call = network.calls()[i];
      if (call.result > 0) {
        own_.push_back(own_[static_cast<std::size_t>(call.inputs[0])]);
        if (own_.back() >= 0) add_shape(calls_[static_cast<std::size_t>(own_.back())], call);
        continue;
      }
      const bool is_own = nested ? call.model_call < 0 : leads[i];
      own_.push_back(is_own ? static_cast<int>(calls_.size()) : -1);
      if (is_own)
        calls_.push_back({.shapes = {call.shape},
                          .mode = call.mode,
                          .use_causal_mask = call.use_causal_mask,
                          .given_masks = call.given_masks});
    }
    first_of_models_ = static_cast<int>(calls_.size());
    for (std::size_t i = 0; i < own_.size(); ++i)
      if (own_[i] >= 0 && network.calls()[i].result == 0)
        fill(calls_[static_cast<std::size_t>(own_[i])], network.calls()[i]);
    if (!nested) return;
    for (const GraphModelCall& call : network.model_calls()) {
      calls_.push_back({.part = part_of(call.model.get(), {.model = call.model}),
                        .inputs = results_of(call.inputs),
                        .mode = call.mode});
    }
  }

  /// Sets the model's layers, calls and outputs.
  void list(NestedModel& model) const {
    model.outputs = results_of(network_.outputs());
    std::vector<int> places(parts_.size());
    for (const int part : keras_layer_order(as_graph(), output_calls(), parts_.size())) {
      places[static_cast<std::size_t>(part)] = static_cast<int>(model.layers.size());
      model.layers.push_back(parts_[static_cast<std::size_t>(part)]);
    }
    model.calls = calls_;
    for (PartCall& call : model.calls) call.part = places[static_cast<std::size_t>(call.part)];
  }

  /// The network's calls in the order in which Keras runs them. The calls inside one call of a model are in the
  /// network's order.
  std::vector<int> running_order() const {
    std::vector<std::vector<int>> of_parts(calls_.size());  // by call of a part: indices of the network's calls
    for (int i = 0; i < static_cast<int>(own_.size()); ++i)
      of_parts[own_[i] >= 0 ? own_[i] : first_of_models_ + network_.calls()[i].model_call].push_back(i);
    std::vector<int> order;
    for (const int call : keras_call_order(as_graph(), output_calls(), parts_.size()))
      order.insert(order.end(), of_parts[call].begin(), of_parts[call].end());
    return order;
  }

 private:
  /// The calls of the parts, as if each part were a layer.
  std::vector<GraphCall> as_graph() const {
    std::vector<GraphCall> calls;
    for (const PartCall& call : calls_) {
      calls.push_back({.layer = call.part, .inputs = {}, .shape = {}});
      for (const PartResult& input : call.inputs) calls.back().inputs.push_back(input.call);
    }
    return calls;
  }

  std::vector<int> output_calls() const {
    std::vector<int> outputs;
    for (const PartResult& output : results_of(network_.outputs())) outputs.push_back(output.call);
    return outputs;
  }

  int part_of(const void* identity, const ModelPart& part) {
    const auto [number, is_new] = number_of_.try_emplace(identity, static_cast<int>(parts_.size()));
    if (is_new) parts_.push_back(part);
    return number->second;
  }

  static void add_shape(PartCall& own, const GraphCall& result) {
    const auto number = static_cast<std::size_t>(result.result);
    if (own.shapes.size() <= number) own.shapes.resize(number + 1);
    own.shapes[number] = result.shape;
  }

  void fill(PartCall& own, const GraphCall& call) {
    const Layer& layer = network_.layers()[static_cast<std::size_t>(call.layer)];
    own.part = part_of(&layer.impl(), {.layer = layer});
    own.inputs = results_of(call.inputs);
  }

  /// The results of the parts' calls that correspond to these calls of the network.
  std::vector<PartResult> results_of(const std::vector<int>& calls) const {
    std::vector<PartResult> results;
    for (const int call : calls) {
      if (call < 0)
        results.push_back({.call = call});
      else if (const int own = own_[static_cast<std::size_t>(call)]; own >= 0)
        results.push_back({.call = own, .result = network_.calls()[static_cast<std::size_t>(call)].result});
      else
        results.push_back(result_of_model(call));
    }
    return results;
  }

  PartResult result_of_model(int call) const {
    const int number = network_.calls()[static_cast<std::size_t>(call)].model_call;
    const std::vector<int>& results = network_.model_calls()[static_cast<std::size_t>(number)].results;
    const auto found = std::ranges::find(results, call);
    require<BrokenInvariant>(found != results.end(), "call {} is read, and is no result of its model", call);
    return {.call = first_of_models_ + number, .result = static_cast<int>(found - results.begin())};
  }

  const Network& network_;
  std::vector<int> own_;  ///< for each call of the network, its index in calls_; -1 if it is inside a model or left out
  int first_of_models_ = 0;
  std::vector<ModelPart> parts_;
  std::map<const void*, int> number_of_;  ///< index in parts_, by layer or model
  std::vector<PartCall> calls_;
};

NestedModel as_keras_model(const Network& network, NestedModel model, bool nested) {
  model.inputs = network.inputs();
  Parts(network, nested).list(model);
  return model;
}

const void* identity_of(const ModelPart& part) {
  return part.layer ? static_cast<const void*>(&part.layer->impl()) : part.model.get();
}

void add_layers(const NestedModel& model, std::set<const void*>& seen, std::vector<Layer>& layers) {
  for (const ModelPart& part : model.layers) {
    if (!seen.insert(identity_of(part)).second) continue;
    if (part.layer)
      layers.push_back(*part.layer);
    else
      add_layers(*part.model, seen, layers);
  }
}

bool has_no_shared_parts(const NestedModel& model) {
  std::set<const void*> seen;
  const auto is_first = [&](const auto& self, const NestedModel& in) -> bool {
    return std::ranges::all_of(in.layers, [&](const ModelPart& part) {
      return seen.insert(identity_of(part)).second && (part.layer || self(self, *part.model));
    });
  };
  return is_first(is_first, model);
}

}  // namespace

std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                   std::size_t layers) {
  const Depths depths = depths_of(calls, outputs, layers);
  std::vector<int> order(layers);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int layer) { return std::pair(-depths.of_layers[layer], depths.met[layer]); });
  return order;
}

std::vector<int> keras_call_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                  std::size_t layers) {
  Depths depths = depths_of(calls, outputs, layers);
  std::ranges::stable_sort(depths.noted, std::greater(), [&](int call) { return depths.of_calls[call]; });
  return std::move(depths.noted);
}

std::vector<int> running_order(const Network& network) {
  std::vector<int> times(network.layers().size(), 0);
  const bool moves_again = std::ranges::any_of(network.calls(), [&](const GraphCall& call) {
    return call.result == 0 && ++times[call.layer] > 1 && network.layers()[call.layer].impl().has_statistics();
  });
  if (moves_again) return Parts(network, true).running_order();
  std::vector<int> order(network.calls().size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

NestedModel keras_model(const Network& network, const std::string& name, const std::string& class_name) {
  return as_keras_model(network, {.name = name, .class_name = class_name}, true);
}

NestedModel flat_keras_model(const Network& network, const std::string& name) {
  return as_keras_model(network, {.name = name, .class_name = "Functional"}, false);
}

NestedModel saved_keras_model(const Network& network, const std::string& name) {
  NestedModel nested = keras_model(network, name);
  return has_no_shared_parts(nested) ? nested : flat_keras_model(network, name);
}

std::vector<Layer> layers_of(const NestedModel& model) {
  std::set<const void*> seen;
  std::vector<Layer> layers;
  add_layers(model, seen, layers);
  return layers;
}

}  // namespace lockstep
