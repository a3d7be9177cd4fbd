#include <memory>

#include <lockstep/models/graph/network.h>

namespace lockstep {
namespace {

/// What a call of a model's layer made, with what is known of it as part of the model.
Symbol part_of(const std::string& model, const GraphCall& call, const Symbol& symbol) {
  Symbol::Node node = symbol.node();
  node.model = model;
  if (!node.device) node.device = call.device;  // in a DeviceScope a model runs there as a whole
  return Symbol(std::make_shared<Symbol::Node>(std::move(node)));
}

}  // namespace

std::vector<Symbol> Network::connect(const std::vector<Symbol>& inputs, const std::string& model) const {
  require(inputs.size() == inputs_.size(), "'{}' takes {} inputs, got {}", model, inputs_.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    require(inputs[i].shape() == inputs_[i].shape, "input '{}' of '{}' takes {}, got {}", inputs_[i].name, model,
            inputs_[i].shape, inputs[i].shape());
  std::vector<Symbol> results;
  for (const GraphCall& call : calls_) {
    std::vector<Symbol> from;
    for (const int source : call.inputs)
      from.push_back(source < 0 ? inputs[static_cast<std::size_t>(-1 - source)]
                                : results[static_cast<std::size_t>(source)]);
    results.push_back(part_of(model, call, layers_[static_cast<std::size_t>(call.layer)](from)));
  }
  std::vector<Symbol> outputs;
  for (const int output : outputs_) outputs.push_back(results[static_cast<std::size_t>(output)]);
  return outputs;
}

}  // namespace lockstep
