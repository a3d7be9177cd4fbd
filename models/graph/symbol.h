#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/graph/nested_model.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/handle.h>

namespace lockstep {

/// The symbolic result of a layer call while a model is described: a shape, and its origin (Keras'
/// KerasTensor). A handle.
class Symbol {
 public:
  /// The call of a layer, or the input, that a symbol refers to.
  struct Node {
    std::shared_ptr<LayerImpl> layer;  ///< null for a model's input
    /// The inputs of the call; empty for an input.
    std::vector<Symbol> inputs;
    Shape shape;  ///< without the batch axis
    /// Of an input; empty for a layer's result.
    std::string name;
    std::uint64_t number;                   ///< symbols made later have larger ones
    std::optional<LogicalDevice> device{};  ///< the device of the call, when it was called in a DeviceScope
    /// The call of a model that the layer was called as part of, the outermost of those that lie in each other; null
    /// for a call of its own.
    std::shared_ptr<const ModelCall> part_of{};
    std::optional<Mode> mode{};  ///< the call's own mode in place of the network's: Keras 2's `training`
    /// Of a model's result: what else the model's call has made and does not read itself, such as its other results.
    /// Models around it have all of it, whichever of its results they read.
    std::vector<Symbol> beside{};

    /// Ends what only this one was computed from without calling itself for each: chains of calls can be long.
    ~Node();
  };

  /// A handle to the result of a layer's call, or of Input.
  explicit Symbol(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  /// Of one example: without the batch axis.
  const Shape& shape() const { return node_->shape; }
  /// The call or input.
  const Node& node() const { return *node_; }

 private:
  Handle<const Node, "symbol"> node_;
};

/// Symbol::Node::number of each.
std::vector<std::uint64_t> numbers_of(const std::vector<Symbol>& symbols);
/// The results of a model's call, each with what of all that the call has `made` is beside it.
std::vector<Symbol> with_what_is_beside(const std::vector<Symbol>& results, const std::vector<Symbol>& made);
/// The same symbol, of the same number, but for what edit(node) changes.
template <class Edit>
Symbol edited(const Symbol& symbol, const Edit& edit) {
  Symbol::Node node = symbol.node();
  edit(node);
  return Symbol(std::make_shared<Symbol::Node>(std::move(node)));
}

/// A model's input of this shape, batch axis left out. Throws InvalidArgument for sizes below 1.
Symbol Input(const Shape& shape, std::string name = "input_layer");  // NOLINT: Keras' name

}  // namespace lockstep
