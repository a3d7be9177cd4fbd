#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/graph/nested_model.h>
#include <lockstep/models/layers/layer.h>

// A network's execution plan: the calls as described, and the steps that execute them.

namespace lockstep {

/// One call of a layer.
struct GraphCall {
  int layer = 0;                          ///< which of the network's layers
  std::vector<int> inputs;                ///< numbers of earlier calls; -1 - i for the network's input i
  Shape shape;                            ///< of the result, without the batch axis
  std::optional<LogicalDevice> device{};  ///< where it runs, when it was placed
  std::optional<Mode> mode{};             ///< its own, whatever the network's is
  int model_call = -1;                    ///< which of the network's calls of models it is part of, if any
};

/// A call of a model whose layers' calls are the network's own.
struct GraphModelCall {
  std::shared_ptr<const NestedModel> model;  ///< the one that is called
  std::vector<int> inputs{};                 ///< as GraphCall's
  std::vector<int> results{};                ///< by result the call that gives it
  std::optional<Mode> mode{};                ///< what the call was given
};

/// A step: one call's execution.
struct PlanStep {
  /// Which of the network's layers.
  int layer = 0;
  std::vector<int> inputs;  ///< numbers of earlier steps; -1 - i for the network's input i
  /// Of the result, without the batch axis.
  Shape shape;
  std::optional<LogicalDevice> device{};  ///< as its call's
  std::optional<Mode> mode{};             ///< as its call's
  /// The layer applies the ReLU after it, which has no step.
  bool fused_relu = false;
  int concat = -1;                ///< the step whose result this one writes its slice of
  std::int64_t concat_begin = 0;  ///< where that slice begins in the last axis
  /// The result is one of the network's, or may be returned as it by the layers after it.
  bool is_output = false;
  std::vector<int> last_reads{};  ///< steps whose results nobody reads after this one, perhaps its own
};

/// The steps of a network.
struct Plan {
  /// In execution order.
  std::vector<PlanStep> steps{};
  std::vector<int> outputs{};  ///< the steps whose results are the network's
};

/// The steps that do the work of `calls` in this order of them; `outputs` are the numbers of the calls whose results
/// are the network's. The optimizations:
/// - on one device and in one dtype, a ReLU that alone reads a result of a layer that can do it in the same pass is no
/// step of its own;
/// - when all inputs of a concatenation come, on its device and in its dtype, from layers that can write into a slice
/// of it, and nobody
///   else reads them, they do so, and nothing is left to be copied;
/// - results are let go of as soon as nobody needs them.
Plan plan_steps(const std::vector<GraphCall>& calls, const std::vector<int>& order, const std::vector<Layer>& layers,
                const std::vector<int>& outputs);

}  // namespace lockstep
