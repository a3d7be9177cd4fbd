#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/graph/given_masks.h>
#include <lockstep/models/graph/nested_model.h>
#include <lockstep/models/graph/unknown_sizes.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/handle.h>

namespace lockstep {

/// A handle to a symbolic tensor (Keras' KerasTensor): the shape of a model's input or of a layer's result, and the
/// call that computes it.
class Symbol {
 public:
  /// The layer's call or the model's input that a symbol refers to.
  struct Node {
    std::shared_ptr<LayerImpl> layer;  ///< null for a model's input
    /// The inputs of the call, followed by the masks that it is given; empty for a model's input. A second or later
    /// result of a call has only one input: the call's first result.
    std::vector<Symbol> inputs;
    Shape shape;               ///< without the batch axis; -1 for sizes that are unknown
    ShapeExamples examples{};  ///< the shape with example sizes in place of unknown ones
    /// The name given to Input(); empty for a layer's result.
    std::string name;
    std::uint64_t number;                   ///< larger for symbols made later
    std::int64_t batch_size = 0;            ///< batch size of an input; see NetworkInput::batch_size
    std::optional<LogicalDevice> device{};  ///< device of the call, if it was made in a DeviceScope
    /// The call of a model that made this call of the layer; for models inside models, the outermost call. Null if the
    /// layer was called directly.
    std::shared_ptr<const ModelCall> part_of{};
    std::optional<Mode> mode{};    ///< the call's own mode (Keras 2's `training`), which replaces the network's
    bool use_causal_mask = false;  ///< see LayerCall::use_causal_mask
    GivenMasks given_masks{};      ///< masks among `inputs`
    int result = 0;                ///< index among the call's results
    std::uint64_t remat = 0;       ///< number of the RematScope in which the call was made; 0 if there was none
    /// For a result of a model's call: the other symbols of that call that no layer of the model reads, such as the
    /// model's unused inputs and its other outputs. A network that uses one of the results and contains the call as a
    /// whole also includes these symbols.
    std::vector<Symbol> unread{};

    /// Destroys the nodes that only this node refers to. Uses a loop, because recursion would overflow the stack for
    /// long chains of calls.
    ~Node();
  };

  /// A handle to a call's result or an input.
  explicit Symbol(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  /// Shape of one example, without the batch axis; -1 for sizes that are unknown.
  const Shape& shape() const { return node_->shape; }
  /// The call or the input that the symbol refers to.
  const Node& node() const { return *node_; }

 private:
  Handle<const Node, "symbol"> node_;
};

/// Symbol::Node::number of each symbol.
std::vector<std::uint64_t> numbers_of(const std::vector<Symbol>& symbols);
/// The results of a model's call on `inputs`, with Node::unread set; a result that is one of `inputs` is unchanged.
/// `made` lists every symbol that the call created.
std::vector<Symbol> with_unread(const std::vector<Symbol>& results, const std::vector<Symbol>& made,
                                const std::vector<Symbol>& inputs);
/// All results of the call whose first result is `first`, in order. Each call of this function creates new symbols for
/// the second and later results.
std::vector<Symbol> results_of(const Symbol& first);
/// A symbol whose node is a copy of `symbol`'s node, changed by edit(node).
template <class Edit>
Symbol edited(const Symbol& symbol, const Edit& edit) {
  Symbol::Node node = symbol.node();
  edit(node);
  return Symbol(std::make_shared<Symbol::Node>(std::move(node)));
}

/// A model's input; `shape` has no batch axis. A size of -1 may differ between batches (None in Keras); no weight may
/// depend on it. Models with stateful layers need `batch_size`, the number of examples in every global batch; 0 means
/// any number. A model makes equal names of its inputs unique. Throws InvalidArgument for a size that is neither -1 nor
/// at least 1, and for a batch_size below 0.
Symbol Input(const Shape& shape, std::string name = "input_layer", std::int64_t batch_size = 0);  // NOLINT: Keras' name

}  // namespace lockstep
