#include "lockstep/models/serialization/keras_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

namespace lockstep {
namespace {

struct Walk {
  std::vector<int> met;       ///< by layer: how many layers the walk met before
  std::vector<int> finished;  ///< calls, each after all that it reads
};

Walk walk_from_outputs(const std::vector<GraphCall>& calls, const std::vector<int>& outputs, std::size_t layers) {
  Walk walk{.met = std::vector<int>(layers, -1), .finished = {}};
  std::vector<bool> seen(calls.size(), false);
  std::vector<std::pair<int, std::size_t>> path;  // calls on the way from the output, and how many inputs are done
  int count = 0;
  const auto enter = [&](int call) {
    seen[call] = true;
    int& met = walk.met[calls[call].layer];
    if (met < 0) met = count++;
    path.emplace_back(call, 0);
  };
  for (const int output : outputs) {
    if (!seen[output]) enter(output);
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

}  // namespace

std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                   std::size_t layers) {
  const Walk walk = walk_from_outputs(calls, outputs, layers);
  std::vector<int> call_depth(calls.size(), 0);
  std::vector<int> depth(layers, 0);
  for (const int call : walk.finished | std::views::reverse) {
    // A layer that is called several times counts by its farthest call, whose distance its later ones take on.
    int& layer_depth = depth[calls[call].layer];
    layer_depth = std::max(layer_depth, call_depth[call]);
    for (const int input : calls[call].inputs) {
      if (input >= 0) call_depth[input] = std::max(call_depth[input], layer_depth + 1);
    }
  }
  std::vector<int> order(layers);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int layer) { return std::pair(-depth[layer], walk.met[layer]); });
  return order;
}

std::vector<ModelPart> keras_layers(const Network& network) {
  std::vector<ModelPart> parts;
  std::map<const void*, int> number_of;  // by layer or model: which part it is
  const auto part_of = [&](const void* identity, const ModelPart& part) {
    const auto [number, is_new] = number_of.try_emplace(identity, static_cast<int>(parts.size()));
    if (is_new) parts.push_back(part);
    return number->second;
  };
  // A call of a model is one call, after all others here, that reads what the model was called on.
  std::vector<GraphCall> calls;
  const auto seen = [&](int call) {
    if (call < 0) return call;
    const int model_call = network.calls()[static_cast<std::size_t>(call)].model_call;
    return model_call < 0 ? call : static_cast<int>(network.calls().size()) + model_call;
  };
  const auto add = [&](int part, const std::vector<int>& inputs) {
    calls.push_back({.layer = part, .inputs = {}, .shape = {}});
    for (const int input : inputs) calls.back().inputs.push_back(seen(input));
  };
  for (const GraphCall& call : network.calls()) {
    const Layer& layer = network.layers()[static_cast<std::size_t>(call.layer)];
    if (call.model_call < 0)
      add(part_of(&layer.impl(), {.layer = layer}), call.inputs);
    else
      calls.push_back({});  // nobody reads it
  }
  for (const GraphModelCall& call : network.model_calls())
    add(part_of(call.model.get(), {.model = call.model}), call.inputs);
  std::vector<int> outputs;
  for (const int output : network.outputs()) outputs.push_back(seen(output));
  std::vector<ModelPart> ordered;
  for (const int part : keras_layer_order(calls, outputs, parts.size()))
    ordered.push_back(parts[static_cast<std::size_t>(part)]);
  return ordered;
}

std::vector<ModelPart> flat_keras_layers(const Network& network) {
  std::vector<ModelPart> ordered;
  for (const int layer : keras_layer_order(network.calls(), network.outputs(), network.layers().size()))
    ordered.push_back({.layer = network.layers()[static_cast<std::size_t>(layer)]});
  return ordered;
}

}  // namespace lockstep
