#include "lockstep/models/graph/symbol.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/models/graph/remat_scope.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/unknown_shape.h>

namespace lockstep {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Throws InvalidArgument unless the mask has the first axes of the input.
void check_mask(std::string_view class_name, const Shape& input, const Shape& mask) {
  bool fits = mask.rank() >= 1 && mask.rank() <= input.rank();
  for (int axis = 0; fits && axis < mask.rank(); ++axis)
    fits = mask[axis] == input[axis] || mask[axis] == -1 || input[axis] == -1;
  require(fits, "a call of {} on {} needs a mask of the first axes of that shape, got {}", class_name, input, mask);
}

}  // namespace

Symbol::Node::~Node() {
  std::vector<Symbol> left = std::move(inputs);
  left.insert(left.end(), unread.begin(), unread.end());
  unread.clear();
  while (!left.empty()) {
    const Symbol last = std::move(left.back());
    left.pop_back();
    if (!last.node_ || last.node_.shared().use_count() > 1) continue;
    Node& node = const_cast<Node&>(*last.node_);  // no other handle refers to it, and the object itself is not const
    for (std::vector<Symbol>* more : {&node.inputs, &node.unread}) {
      left.insert(left.end(), more->begin(), more->end());
      more->clear();
    }
  }
}

Symbol Input(const Shape& shape, std::string name, std::int64_t batch_size) {  // NOLINT: Keras' name
  require(std::ranges::all_of(shape, [](std::int64_t size) { return size >= 1 || size == -1; }),
          "Input needs sizes of at least 1, or -1 for any (the batch axis left out), got {}", shape);
  require(batch_size >= 0, "Input needs a batch_size of at least 1, or 0 for any, got {}", batch_size);
  return Symbol(std::make_shared<Symbol::Node>(Symbol::Node{.layer = {},
                                                            .inputs = {},
                                                            .shape = shape,
                                                            .examples = examples_of(shape),
                                                            .name = std::move(name),
                                                            .number = next_number(),
                                                            .batch_size = batch_size}));
}

std::vector<std::uint64_t> numbers_of(const std::vector<Symbol>& symbols) {
  std::vector<std::uint64_t> numbers;
  for (const Symbol& symbol : symbols) numbers.push_back(symbol.node().number);
  return numbers;
}

std::vector<Symbol> with_unread(const std::vector<Symbol>& results, const std::vector<Symbol>& made,
                                const std::vector<Symbol>& inputs) {
  std::set<std::uint64_t> read;
  for (const Symbol& symbol : made)
    for (const Symbol& input : symbol.node().inputs) read.insert(input.node().number);
  std::vector<Symbol> ends;
  for (const std::vector<Symbol>* const symbols : {&inputs, &made})
    for (const Symbol& symbol : *symbols)
      if (!read.contains(symbol.node().number)) ends.push_back(symbol);
  const std::vector<std::uint64_t> given = numbers_of(inputs);
  std::vector<Symbol> all;
  for (const Symbol& result : results) {
    if (std::ranges::count(given, result.node().number) > 0) {  // an input of the model that is also its output
      all.push_back(result);
      continue;
    }
    all.push_back(edited(result, [&](Symbol::Node& node) {
      for (const Symbol& end : ends)
        if (end.node().number != node.number) node.unread.push_back(end);
    }));
  }
  return all;
}

std::vector<Symbol> results_of(const Symbol& first) {
  const Symbol::Node& call = first.node();
  const auto shapes_of = [&](std::size_t example) {
    std::vector<Shape> inputs;
    for (const Symbol& input : layer_inputs(call.inputs, call.given_masks))
      inputs.push_back(input.node().examples[example]);
    return call.layer->more_output_shapes(inputs);
  };
  const std::vector<Shape> shapes = shapes_of(0);
  const bool known = std::ranges::all_of(call.inputs, [](const Symbol& input) { return is_known(input.shape()); });
  const std::vector<Shape> others = known || shapes.empty() ? shapes : shapes_of(1);
  std::vector<Symbol> results{first};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    results.push_back(edited(first, [&](Symbol::Node& node) {
      node.inputs = {first};
      node.examples = {shapes[i], others[i]};
      node.shape = common_shape(node.examples);
      node.number = next_number();
      node.result = static_cast<int>(i) + 1;
      node.given_masks.clear();
      node.unread.clear();
    }));
  return results;
}

std::vector<Symbol> Layer::results(const std::vector<Symbol>& inputs) const { return results_of((*this)(inputs)); }

std::vector<Symbol> Layer::results(const std::vector<Symbol>& inputs, const CallMasks& masks) const {
  return results_of((*this)(inputs, masks));
}

Symbol Layer::output() const {
  require<LogicError>(results_ != nullptr, "layer '{}' has an output in a model: get it by the model's get_layer()",
                      name());
  require<LogicError>(results_->size() == 1, "layer '{}' has no single output: the model calls it {} times", name(),
                      results_->size());
  return results_->front();
}

Layer Layer::with_results(const std::vector<Symbol>& results) const {
  Layer layer = *this;
  layer.results_ = std::make_shared<const std::vector<Symbol>>(results);
  return layer;
}

Symbol Layer::operator()(const Symbol& input) const { return (*this)(std::vector{input}); }

Symbol Layer::operator()(const std::vector<Symbol>& inputs) const {
  const auto result_of = [&](std::size_t example) {
    std::vector<Shape> shapes;
    for (const Symbol& input : inputs) shapes.push_back(input.node().examples[example]);
    return impl_->output_shape(shapes);
  };
  const auto examples_of_result = [&]() -> ShapeExamples {
    std::vector<Shape> shapes;
    for (const Symbol& input : inputs) shapes.push_back(input.shape());
    if (std::ranges::all_of(shapes, is_known)) {
      const Shape result = impl_->output_shape(shapes);
      return {result, result};
    }
    if (const std::optional<Shape> unknown = unknown_output_shape(*impl_, shapes)) return examples_of(*unknown);
    try {
      return {result_of(0), result_of(1)};
    } catch (InvalidArgument& error) {
      error.add_context(fmt::format("a call on {}, where -1 is any size", fmt::join(shapes, " and ")));
      throw;
    }
  };
  const ShapeExamples examples = examples_of_result();
  Symbol::Node node{.layer = impl_.shared(),
                    .inputs = inputs,
                    .shape = common_shape(examples),
                    .examples = examples,
                    .name = {},
                    .number = next_number()};
  if (current_context().placed) node.device = current_context().device;
  node.remat = RematScope::current();
  return Symbol(std::make_shared<Symbol::Node>(std::move(node)));
}

Symbol Layer::operator()(const std::vector<Symbol>& inputs, const CallMasks& masks) const {
  const Symbol result = (*this)(inputs);
  if (masks.empty()) return result;
  const std::string_view class_name = impl_->class_name();
  require(class_name != "Softmax", "a call of Softmax has the mask as its second input, not as an argument mask");
  require(!layer_classes().is_keras(class_name) || reads_masks(class_name), "a call of {} has no argument mask",
          class_name);
  require(masks.size() <= inputs.size(), "a call of {} on {} inputs is given {} masks", class_name, inputs.size(),
          masks.size());
  require(class_name != "MultiHeadAttention" || !masks[0],
          "a call of MultiHeadAttention takes no query_mask, which Keras ignores: give an attention_mask");
  return edited(result, [&](Symbol::Node& node) {
    node.given_masks.assign(inputs.size(), is_multi_head_attention(class_name) ? carried_mask : no_mask);
    for (std::size_t i = 0; i < masks.size(); ++i) {
      if (!masks[i]) continue;
      check_mask(class_name, inputs[i].shape(), masks[i]->shape());
      node.given_masks[i] = static_cast<int>(node.inputs.size());
      node.inputs.push_back(*masks[i]);
    }
  });
}

}  // namespace lockstep
