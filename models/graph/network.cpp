#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include <lockstep/models/graph/naming.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/graph/summary.h>

namespace lockstep {
namespace {

/// Every symbol that `output` is computed from, itself included, in the order in which they were made: what a symbol
/// is computed from comes before it.
std::vector<const Symbol::Node*> ancestors(const Symbol& output) {
  std::set<const Symbol::Node*> seen{&output.node()};
  std::vector<const Symbol::Node*> nodes{&output.node()};
  for (std::size_t next = 0; next < nodes.size(); ++next)
    for (const Symbol& input : nodes[next]->inputs)
      if (seen.insert(&input.node()).second) nodes.push_back(&input.node());
  std::ranges::sort(nodes, {}, &Symbol::Node::number);
  return nodes;
}

Shape batched(std::int64_t rows, const Shape& shape) {
  Shape result{rows};
  for (const std::int64_t size : shape) result.push_back(size);
  return result;
}

}  // namespace

Network::Network(const Symbol& input, const Symbol& output, std::uint64_t seed)
    : strategy_(get_strategy()),
      input_shape_(input.shape()),
      output_shape_(output.shape()),
      input_name_(input.node().name) {
  require<LogicError>(!current_context().in_replica(), "a model is made outside the replicas, in the strategy's scope");
  add_calls(input, output);
  name_layers();
  build_layers(seed);
  steps_ = plan_steps(calls_, layers_);
}

void Network::add_calls(const Symbol& input, const Symbol& output) {
  std::unordered_map<const Symbol::Node*, int> call_of{{&input.node(), -1}};
  std::unordered_map<const LayerImpl*, int> layer_of;
  const std::vector<const Symbol::Node*> nodes = ancestors(output);
  require(std::ranges::find(nodes, &input.node()) != nodes.end() && nodes.size() > 1,
          "the model's output does not depend on its input '{}'", input_name_);
  for (const Symbol::Node* node : nodes) {
    if (node == &input.node()) continue;
    require(node->layer != nullptr, "the model's output depends on '{}' besides its input '{}'; a model has one input",
            node->name, input_name_);
    const auto [layer, added] = layer_of.try_emplace(node->layer.get(), static_cast<int>(layers_.size()));
    if (added) layers_.emplace_back(node->layer);
    GraphCall call{.layer = layer->second, .inputs = {}, .shape = node->shape};
    for (const Symbol& from : node->inputs) call.inputs.push_back(call_of.at(&from.node()));
    call_of[node] = static_cast<int>(calls_.size());
    calls_.push_back(std::move(call));
  }
}

void Network::name_layers() {
  std::set<std::string> taken{input_name_};
  for (const Layer& layer : layers_)
    require(layer.name().empty() || taken.insert(layer.name()).second, "two layers of the model are named '{}'",
            layer.name());
  std::map<std::string, int> used;  // how many names of a class have been tried
  for (const Layer& layer : layers_) {
    if (!layer.name().empty()) continue;
    const std::string base = snake_case(layer.impl().class_name());
    std::string name;
    do {
      const int number = used[base]++;
      name = number == 0 ? base : fmt::format("{}_{}", base, number);
    } while (!taken.insert(name).second);
    layer.impl().set_name(name);
  }
}

void Network::build_layers(std::uint64_t seed) {
  for (const GraphCall& call : calls_) {
    LayerImpl& layer = layers_[call.layer].impl();
    std::vector<Shape> inputs;
    for (const int from : call.inputs) inputs.push_back(from < 0 ? input_shape_ : calls_[from].shape);
    if (!layer.is_built()) layer.build(inputs, {.seed = seed, .stream = static_cast<std::uint32_t>(call.layer)});
    layer.output_shape(inputs);  // throws when a layer that is shared was built for other inputs
    for (const Variable& variable : layer.variables())
      require(variable.state().copies().size() == strategy_.devices().size(),
              "layer '{}' was built under another strategy, with {} copies of its weights instead of {}", layer.name(),
              variable.state().copies().size(), strategy_.devices().size());
  }
}

Tensor Network::operator()(const Tensor& x, Mode mode) const {
  check_call(x, mode);
  std::vector<Tensor> results(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const PlanStep& step = steps_[i];
    std::vector<Tensor> inputs;
    for (const int from : step.inputs) inputs.push_back(from < 0 ? x : results[from]);
    LayerCall call{.mode = mode, .fused_relu = step.fused_relu};
    if (step.concat >= 0) {
      Tensor& whole = results[step.concat];
      if (!whole.defined()) whole = Tensor::empty(batched(x.dim(0), steps_[step.concat].shape));
      call.out = whole.slice_view(-1, step.concat_begin, step.concat_begin + step.shape.dim(-1));
    }
    results[i] = run_step(step, inputs, std::move(call));
    for (const int done : step.last_reads) results[done] = Tensor();
  }
  return results.back();
}

void Network::check_call(const Tensor& x, Mode mode) const {
  require(x.defined() && x.rank() >= 1 && x.shape() == batched(x.dim(0), input_shape_),
          "the model takes batches of {}, got {}", input_shape_, x);
  require<LogicError>(
      mode == Mode::inference || current_context().in_replica() || strategy_.num_replicas_in_sync() == 1,
      "a model on {} replicas trains inside strategy.run(), each replica on its own weights",
      strategy_.num_replicas_in_sync());
}

Tensor Network::run_step(const PlanStep& step, std::span<const Tensor> inputs, LayerCall call) const {
  LayerImpl& layer = layers_[step.layer].impl();
  try {
    return layer.call(inputs, call);
  } catch (Error& error) {
    error.add_context(fmt::format("layer '{}'", layer.name()));
    throw;
  }
}

std::vector<Variable> Network::variables() const {
  std::vector<Variable> result;
  for (const Layer& layer : layers_) {
    const std::vector<Variable>& own = layer.impl().variables();
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

std::vector<Variable> Network::trainable_variables() const {
  std::vector<Variable> result = variables();
  std::erase_if(result, [](const Variable& variable) { return !variable.trainable(); });
  return result;
}

std::int64_t Network::count_params() const {
  std::int64_t count = 0;
  for (const Layer& layer : layers_) count += layer.impl().count_params();
  return count;
}

std::string Network::summary(const std::string& name) const {
  return summary_table({.name = name, .input_name = input_name_, .input_shape = input_shape_}, calls_, layers_);
}

}  // namespace lockstep
