#include "lockstep/models/serialization/keras_order.h"

#include <algorithm>
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

}  // namespace lockstep
