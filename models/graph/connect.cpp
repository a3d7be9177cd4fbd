#include <memory>

#include <lockstep/models/graph/network.h>

namespace lockstep {

std::vector<Symbol> Network::connect(const std::vector<Symbol>& inputs,
                                     const std::shared_ptr<const NestedModel>& model) const {
  require(inputs.size() == inputs_.size(), "'{}' takes {} inputs, got {}", model->name, inputs_.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    require(inputs[i].shape() == inputs_[i].shape, "input '{}' of '{}' takes {}, got {}", inputs_[i].name, model->name,
            inputs_[i].shape, inputs[i].shape());
  const auto made = std::make_shared<ModelCall>(ModelCall{.model = model, .inputs = numbers_of(inputs)});
  std::vector<Symbol> results;
  for (const GraphCall& call : calls_) {
    std::vector<Symbol> from;
    for (const int source : call.inputs)
      from.push_back(source < 0 ? inputs[static_cast<std::size_t>(-1 - source)]
                                : results[static_cast<std::size_t>(source)]);
    results.push_back(edited(layers_[static_cast<std::size_t>(call.layer)](from), [&](Symbol::Node& node) {
      node.part_of = made;
      node.mode = call.mode;
      if (!node.device) node.device = call.device;  // in a DeviceScope a model runs there as a whole
    }));
  }
  std::vector<Symbol> outputs;
  for (const int output : outputs_) outputs.push_back(results[static_cast<std::size_t>(output)]);
  made->results = numbers_of(outputs);
  return with_what_is_beside(outputs, results);
}

}  // namespace lockstep
