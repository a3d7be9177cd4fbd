#include "lockstep/models/graph/plan.h"

#include <algorithm>

namespace lockstep {
namespace {

/// How often each result is read, by others or as the network's.
template <class Calls>
std::vector<int> count_readers(const Calls& calls, const std::vector<int>& outputs) {
  std::vector<int> readers(calls.size(), 0);
  for (const int output : outputs) ++readers[output];
  for (const auto& call : calls)
    for (const int input : call.inputs)
      if (input >= 0) ++readers[input];
  return readers;
}

/// Whether the one layer's results are what the other one reads and gives, without a cast.
bool agree(const LayerImpl& layer, const LayerImpl& reader) {
  const DType dtype = layer.call_dtype();
  return layer.compute_dtype() == dtype && reader.call_dtype() == dtype && reader.compute_dtype() == dtype;
}

/// The calls as steps, without the ReLUs that an earlier step can do.
Plan fuse_relus(const std::vector<GraphCall>& calls, const std::vector<int>& order, const std::vector<Layer>& layers,
                const std::vector<int>& outputs) {
  const std::vector<int> readers = count_readers(calls, outputs);
  std::vector<PlanStep> steps;
  std::vector<int> step_of(calls.size());
  for (const int number : order) {
    const GraphCall& call = calls[number];
    const int source = call.inputs[0];
    const LayerImpl& layer = layers[call.layer].impl();
    if (layer.traits().is_relu && source >= 0 && readers[source] == 1 &&
        layers[calls[source].layer].impl().traits().can_fuse_relu && calls[source].device == call.device &&
        agree(layers[calls[source].layer].impl(), layer)) {
      steps[step_of[source]].fused_relu = true;
      step_of[number] = step_of[source];
      continue;
    }
    PlanStep step{.layer = call.layer, .inputs = {}, .shape = call.shape, .device = call.device, .mode = call.mode};
    for (const int input : call.inputs) step.inputs.push_back(input < 0 ? input : step_of[input]);
    step_of[number] = static_cast<int>(steps.size());
    steps.push_back(std::move(step));
  }
  Plan plan{.steps = std::move(steps)};
  for (const int output : outputs) plan.outputs.push_back(step_of[output]);
  const auto may_return_input = [&](int step) {
    return layers[plan.steps[step].layer].impl().traits().may_return_input;
  };
  for (const int output : plan.outputs)
    for (int step = output; step >= 0; step = may_return_input(step) ? plan.steps[step].inputs[0] : -1)
      plan.steps[step].is_output = true;
  return plan;
}

void write_into_concatenations(Plan& plan, const std::vector<Layer>& layers) {
  std::vector<PlanStep>& steps = plan.steps;
  const std::vector<int> readers = count_readers(steps, plan.outputs);
  for (int concat = 0; concat < static_cast<int>(steps.size()); ++concat) {
    const std::vector<int>& parts = steps[concat].inputs;
    const LayerImpl& joint = layers[steps[concat].layer].impl();
    const bool in_place = joint.traits().joins_last_axis && std::ranges::all_of(parts, [&](int part) {
                            return part >= 0 && readers[part] == 1 && steps[part].device == steps[concat].device &&
                                   layers[steps[part].layer].impl().traits().can_write_to &&
                                   agree(layers[steps[part].layer].impl(), joint);
                          });
    if (!in_place) continue;
    std::int64_t begin = 0;
    for (const int part : parts) {
      steps[part].concat = concat;
      steps[part].concat_begin = begin;
      begin += steps[part].shape.dim(-1);
    }
  }
}

void note_last_reads(Plan& plan) {
  std::vector<PlanStep>& steps = plan.steps;
  std::vector<bool> read_later(steps.size(), false);
  for (const int output : plan.outputs) read_later[output] = true;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (const int own = static_cast<int>(steps.rend() - step) - 1; !read_later[own]) step->last_reads.push_back(own);
    for (const int input : step->inputs) {
      if (input < 0 || read_later[input]) continue;
      read_later[input] = true;
      step->last_reads.push_back(input);
    }
  }
}

}  // namespace

Plan plan_steps(const std::vector<GraphCall>& calls, const std::vector<int>& order, const std::vector<Layer>& layers,
                const std::vector<int>& outputs) {
  Plan plan = fuse_relus(calls, order, layers, outputs);
  write_into_concatenations(plan, layers);
  note_last_reads(plan);
  return plan;
}

}  // namespace lockstep
