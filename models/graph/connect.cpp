#include <memory>

#include <lockstep/models/graph/network.h>

namespace lockstep {
namespace {

/// What a call of a model's layer made, with what is known of it as part of the model.
Symbol result_of(const GraphCall& call, const Symbol& symbol, std::shared_ptr<const ModelCall> part_of) {
  Symbol::Node node = symbol.node();
  node.part_of = std::move(part_of);
  node.mode = call.mode;
  if (!node.device) node.device = call.device;  // in a DeviceScope a model runs there as a whole
  return Symbol(std::make_shared<Symbol::Node>(std::move(node)));
}

}  // namespace

std::vector<Symbol> Network::connect(const std::vector<Symbol>& inputs,
                                     const std::shared_ptr<const NestedModel>& model) const {
  require(inputs.size() == inputs_.size(), "'{}' takes {} inputs, got {}", model->name, inputs_.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    require(inputs[i].shape() == inputs_[i].shape, "input '{}' of '{}' takes {}, got {}", inputs_[i].name, model->name,
            inputs_[i].shape, inputs[i].shape());
  const auto made = std::make_shared<const ModelCall>(model_call(model, inputs));
  std::vector<Symbol> results;
  for (const GraphCall& call : calls_) {
    std::vector<Symbol> from;
    for (const int source : call.inputs)
      from.push_back(source < 0 ? inputs[static_cast<std::size_t>(-1 - source)]
                                : results[static_cast<std::size_t>(source)]);
    results.push_back(result_of(call, layers_[static_cast<std::size_t>(call.layer)](from), made));
  }
  std::vector<Symbol> outputs;
  for (const int output : outputs_) outputs.push_back(results[static_cast<std::size_t>(output)]);
  return outputs;
}

}  // namespace lockstep
