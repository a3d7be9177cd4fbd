#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/graph/nested_model.h>
#include <lockstep/models/graph/unknown_sizes.h>
#include <lockstep/models/layers/layer.h>

// A network's calls of layers, and the plan by which they are executed.

namespace lockstep {

/// One call of a layer. If the call has several results, each result after the first has a GraphCall of its own.
struct GraphCall {
  int layer = 0;  ///< index of the layer in Network::layers
  /// Indices of earlier calls; -1 - i for the network's input i. Masks that the call is given follow the layer's
  /// inputs.
  std::vector<int> inputs;
  Shape shape;                            ///< shape of the result, without the batch axis; -1 for unknown sizes
  ShapeExamples examples{};               ///< see Symbol::Node::examples
  std::optional<LogicalDevice> device{};  ///< device of the call, if it was made in a DeviceScope
  std::optional<Mode> mode{};             ///< the call's own mode, which replaces the network's
  bool use_causal_mask = false;           ///< see LayerCall::use_causal_mask
  GivenMasks given_masks{};               ///< masks among `inputs`
  int result = 0;                         ///< if above 0: this is result number `result` of the call inputs[0]
  int model_call = -1;                    ///< index in Network::model_calls, if a model's call made this call; else -1
  std::uint64_t remat = 0;                ///< see Symbol::Node::remat
  bool broadcasts = false;                ///< whether an input's shape differs from the result's
};

/// A call of a model that is part of the network. The calls of its layers are calls of the network.
struct GraphModelCall {
  std::shared_ptr<const NestedModel> model;  ///< the model that is called
  std::vector<int> inputs{};                 ///< see GraphCall::inputs
  std::vector<int> results{};                ///< indices of the calls that compute the model's results
  std::optional<Mode> mode{};                ///< the mode given to the call, if any
};

/// The execution of one call.
struct PlanStep {
  /// See GraphCall::layer.
  int layer = 0;
  /// Indices of earlier steps; -1 - i for the network's input i. If an Add is fused with the layer, the Add's other
  /// input follows the layer's inputs.
  std::vector<int> inputs;
  /// See GraphCall::shape.
  Shape shape;
  std::optional<LogicalDevice> device{};  ///< see GraphCall::device
  std::optional<Mode> mode{};             ///< see GraphCall::mode
  bool use_causal_mask = false;           ///< see LayerCall::use_causal_mask
  GivenMasks given_masks{};               ///< masks among `inputs`
  /// The step also applies the ReLU that follows the layer.
  bool fused_relu = false;
  int concat = -1;                ///< step of the concatenation into whose result this step writes; -1 if none
  std::int64_t concat_begin = 0;  ///< index along the concatenation's last axis at which this step's result begins
  int result = 0;                 ///< if above 0: the step returns this result of step inputs[0] and calls no layer
  bool is_read_again = false;     ///< whether other steps return further results of this step's call
  /// See LayerCall::is_output.
  bool is_output = false;
  int remat_block = -1;           ///< number shared by consecutive steps of one RematScope; -1 for other steps
  std::vector<int> last_reads{};  ///< steps whose results are freed after this step; may include this step
};

/// Whether any of the layers makes masks or any of the calls is given masks.
bool have_masks(const std::vector<Layer>& layers, const std::vector<GraphCall>& calls);

/// The steps of a network.
struct Plan {
  /// In execution order.
  std::vector<PlanStep> steps{};
  std::vector<int> outputs{};  ///< indices of the steps that compute the network's outputs; -1 - i for its input i
};

/// Plans the execution of `calls` in the order `order`, a list of indices into `calls`. `outputs` is
/// Network::outputs(); `masked`: whether results may have masks. Optimizations:
/// - in a network without masks, an Add of two inputs of equal shape is fused into a layer that computes one of the
///   inputs, if the layer supports it, is called once, runs on the same device in the same dtype, and has no other
///   reader of its result;
/// - a ReLU that is the only reader of a layer's result is fused into that layer, if that layer supports it and runs on
///   the same device in the same dtype;
/// - in a network without masks, the inputs of a concatenation along the last axis are written directly into its
///   result, if the result's shape is known, nothing else reads an input, and each input comes from a layer that can
///   write into a slice and runs on the same device, in the same dtype and in the same remat_block;
/// - a result is freed after its last reader.
Plan plan_steps(const std::vector<GraphCall>& calls, const std::vector<int>& order, const std::vector<Layer>& layers,
                const std::vector<int>& outputs, bool masked);

}  // namespace lockstep
