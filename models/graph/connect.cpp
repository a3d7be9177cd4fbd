#include <map>
#include <memory>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/graph/remat_scope.h>

namespace lockstep {

std::vector<Symbol> Network::connect(const std::vector<Symbol>& inputs,
                                     const std::shared_ptr<const NestedModel>& model) const {
  require(inputs.size() == inputs_.size(), "'{}' takes {} inputs, got {}", model->name, inputs_.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    require(fits(inputs[i].shape(), inputs_[i].shape), "input '{}' of '{}' takes {}, got {}", inputs_[i].name,
            model->name, inputs_[i].shape, inputs[i].shape());
  const auto made = std::make_shared<ModelCall>(ModelCall{.model = model, .inputs = numbers_of(inputs)});
  std::vector<Symbol> results;
  std::vector<std::size_t> result_of(calls_.size());
  std::map<std::uint64_t, std::uint64_t> remat_of;  // each call of the model has scopes of its own
  const auto result = [&](int call) { return results[result_of[static_cast<std::size_t>(call)]]; };
  for (const int number : order_) {
    const GraphCall& call = calls_[static_cast<std::size_t>(number)];
    std::vector<Symbol> from;
    for (const int source : call.inputs)
      from.push_back(source < 0 ? inputs[static_cast<std::size_t>(-1 - source)] : result(source));
    result_of[static_cast<std::size_t>(number)] = results.size();
    if (call.result > 0) {
      results.push_back(results_of(from[0])[static_cast<std::size_t>(call.result)]);
      continue;
    }
    const auto own = layer_inputs(from, call.given_masks);
    const Symbol first = layers_[static_cast<std::size_t>(call.layer)](std::vector(own.begin(), own.end()));
    results.push_back(edited(first, [&](Symbol::Node& node) {
      node.inputs = from;
      node.given_masks = call.given_masks;
      node.part_of = made;
      node.mode = call.mode;
      node.use_causal_mask = call.use_causal_mask;
      if (!node.device) node.device = call.device;  // in a DeviceScope a model runs there as a whole
      if (node.remat != 0 || call.remat == 0) return;
      std::uint64_t& remat = remat_of[call.remat];
      if (remat == 0) remat = RematScope().number();
      node.remat = remat;
    }));
  }
  std::vector<Symbol> outputs;
  for (const int output : outputs_)
    outputs.push_back(output < 0 ? inputs[static_cast<std::size_t>(-1 - output)] : result(output));
  made->results = numbers_of(outputs);
  return with_unread(outputs, results, inputs);
}

}  // namespace lockstep
