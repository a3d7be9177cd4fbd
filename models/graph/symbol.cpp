#include "lockstep/models/graph/symbol.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace lockstep {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Symbol::Node::~Node() {
  std::vector<Symbol> left = std::move(inputs);
  while (!left.empty()) {
    const Symbol last = std::move(left.back());
    left.pop_back();
    if (!last.node_ || last.node_.shared().use_count() > 1) continue;
    std::vector<Symbol>& more = const_cast<Node&>(*last.node_).inputs;  // nobody else has it, and none was made const
    left.insert(left.end(), more.begin(), more.end());
    more.clear();
  }
}

Symbol Input(const Shape& shape, std::string name) {  // NOLINT: Keras' name
  require(std::ranges::all_of(shape, [](std::int64_t size) { return size >= 1; }),
          "Input needs sizes of at least 1 (the batch axis left out), got {}", shape);
  return Symbol(std::make_shared<Symbol::Node>(
      Symbol::Node{.layer = {}, .inputs = {}, .shape = shape, .name = std::move(name), .number = next_number()}));
}

std::vector<std::uint64_t> numbers_of(const std::vector<Symbol>& symbols) {
  std::vector<std::uint64_t> numbers;
  for (const Symbol& symbol : symbols) numbers.push_back(symbol.node().number);
  return numbers;
}

Symbol Layer::operator()(const Symbol& input) const { return (*this)(std::vector{input}); }

Symbol Layer::operator()(const std::vector<Symbol>& inputs) const {
  std::vector<Shape> shapes;
  for (const Symbol& input : inputs) shapes.push_back(input.shape());
  Symbol::Node node{.layer = impl_.shared(),
                    .inputs = inputs,
                    .shape = impl_->output_shape(shapes),
                    .name = {},
                    .number = next_number()};
  if (current_context().placed) node.device = current_context().device;
  return Symbol(std::make_shared<Symbol::Node>(std::move(node)));
}

}  // namespace lockstep
