#include "lockstep/models/graph/plan.h"

#include <algorithm>
#include <set>

namespace lockstep {
namespace {

/// The number of times each result is read by a call or is an output of the network.
template <class Calls>
std::vector<int> count_readers(const Calls& calls, const std::vector<int>& outputs) {
  std::vector<int> readers(calls.size(), 0);
  for (const int output : outputs)
    if (output >= 0) ++readers[output];
  for (const auto& call : calls)
    for (const int input : call.inputs)
      if (input >= 0) ++readers[input];
  return readers;
}

/// Whether `layer`'s result has the dtype that `reader` reads and returns, without a cast.
bool agree(const LayerImpl& layer, const LayerImpl& reader) {
  const DType dtype = layer.call_dtype();
  return layer.compute_dtype() == dtype && reader.call_dtype() == dtype && reader.compute_dtype() == dtype;
}

/// Whether the axis, counting the batch axis, is the last of results of this shape, which lacks the batch axis.
bool is_last(int axis, const Shape& shape) { return axis == -1 || (axis > 0 && axis == shape.rank()); }

/// Fuses calls into the steps of the calls before them.
class Fusion {
 public:
  Fusion(const std::vector<GraphCall>& calls, const std::vector<int>& order, const std::vector<Layer>& layers,
         const std::vector<int>& outputs, bool masked)
      : calls_(calls),
        layers_(layers),
        readers_(count_readers(calls, outputs)),
        step_of_(calls.size(), -1),
        fused_term_(calls.size(), -1) {
    if (!masked) choose_terms(order);  // the mask of an Add depends on both terms
    for (const int number : order) add(number);
  }

  std::vector<PlanStep> steps{};
  int step_of(int call) const { return step_of_[call]; }
  /// Sets PlanStep::remat_block.
  void number_remat_blocks() {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (remat_[i] == 0) continue;
      steps[i].remat_block = i > 0 && remat_[i] == remat_[i - 1] ? steps[i - 1].remat_block : static_cast<int>(i);
    }
  }

 private:
  const LayerImpl& layer_of(int call) const { return layers_[calls_[call].layer].impl(); }
  const LayerTraits& traits_of(int call) const { return layer_of(call).traits(); }

  /// Whether `reader` alone reads the result of `call`, and computes on the same device and in the same dtype.
  bool may_fuse(int call, int reader) const {
    return call >= 0 && readers_[call] == 1 && calls_[call].result == 0 &&
           calls_[call].device == calls_[reader].device && agree(layer_of(call), layer_of(reader));
  }

  bool adds_to_last_axis(int call) const {
    return traits_of(call).can_fuse_add && is_last(traits_of(call).channel_axis, calls_[call].shape);
  }

  /// Chooses the term of each Add that is fused with it: of two possible terms the later one, which is next to the Add.
  /// Layers that are called several times are excluded, because fusing could reorder their calls and so the updates of
  /// their statistics.
  void choose_terms(const std::vector<int>& order) {
    std::vector<int> calls_of_layer(layers_.size(), 0);
    for (const GraphCall& call : calls_) ++calls_of_layer[call.layer];
    std::vector<int> place(calls_.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
    for (const int number : order) {
      if (!traits_of(number).is_add || calls_[number].broadcasts || calls_[number].inputs.size() != 2) continue;
      int& chosen = fused_term_[number];
      for (const int term : calls_[number].inputs)
        if (may_fuse(term, number) && adds_to_last_axis(term) && calls_of_layer[calls_[term].layer] == 1 &&
            (chosen < 0 || place[term] > place[chosen]))
          chosen = term;
      if (chosen >= 0) is_fused_.insert(chosen);
    }
  }

  void add(int number) {
    const GraphCall& call = calls_[number];
    const int source = call.inputs[0];
    if (is_fused_.contains(number)) return;
    if (call.result > 0) steps[step_of_[source]].is_read_again = true;
    if (traits_of(number).is_relu && may_fuse(source, number) &&
        layers_[steps[step_of_[source]].layer].impl().traits().can_fuse_relu && !traits_of(source).is_relu) {
      steps[step_of_[source]].fused_relu = true;
      step_of_[number] = step_of_[source];
      return;
    }
    const int term = fused_term_[number];
    const GraphCall& computed = term < 0 ? call : calls_[term];
    PlanStep step{.layer = computed.layer,
                  .inputs = {},
                  .shape = call.shape,
                  .device = call.device,
                  .mode = computed.mode,
                  .use_causal_mask = computed.use_causal_mask,
                  .given_masks = computed.given_masks,
                  .result = call.result};
    for (const int input : computed.inputs) step.inputs.push_back(step_or_input(input));
    if (term >= 0) step.inputs.push_back(step_or_input(call.inputs[call.inputs[0] == term ? 1 : 0]));
    step_of_[number] = static_cast<int>(steps.size());
    steps.push_back(std::move(step));
    remat_.push_back(computed.remat);
  }

  int step_or_input(int input) const { return input < 0 ? input : step_of_[input]; }

  const std::vector<GraphCall>& calls_;
  const std::vector<Layer>& layers_;
  std::vector<int> readers_;
  std::vector<int> step_of_;
  std::vector<std::uint64_t> remat_{};  ///< by step: see GraphCall::remat
  std::vector<int> fused_term_;         ///< by call: for an Add, the term that is fused with it; otherwise -1
  std::set<int> is_fused_;              ///< calls that are fused with an Add, and so have no step of their own
};

/// The steps of the calls. A call that is fused with another one has no step of its own.
Plan fuse(const std::vector<GraphCall>& calls, const std::vector<int>& order, const std::vector<Layer>& layers,
          const std::vector<int>& outputs, bool masked) {
  Fusion fusion(calls, order, layers, outputs, masked);
  fusion.number_remat_blocks();
  Plan plan{.steps = std::move(fusion.steps)};
  for (const int output : outputs) plan.outputs.push_back(output < 0 ? output : fusion.step_of(output));
  const auto may_return_input = [&](int step) {
    return layers[plan.steps[step].layer].impl().traits().may_return_input;
  };
  for (const int output : plan.outputs)
    for (int step = output; step >= 0; step = may_return_input(step) ? plan.steps[step].inputs[0] : -1)
      plan.steps[step].is_output = true;
  return plan;
}

bool can_write_to(const LayerImpl& layer, const Shape& shape) {
  return layer.traits().can_write_to && is_last(layer.traits().channel_axis, shape);
}

void write_into_concatenations(Plan& plan, const std::vector<Layer>& layers) {
  std::vector<PlanStep>& steps = plan.steps;
  const std::vector<int> readers = count_readers(steps, plan.outputs);
  for (int concat = 0; concat < static_cast<int>(steps.size()); ++concat) {
    const std::vector<int>& parts = steps[concat].inputs;
    const LayerImpl& joint = layers[steps[concat].layer].impl();
    if (!is_last(joint.traits().concatenated_axis, steps[concat].shape)) continue;
    const bool in_place = is_known(steps[concat].shape) && std::ranges::all_of(parts, [&](int part) {
                            return part >= 0 && readers[part] == 1 && steps[part].result == 0 &&
                                   steps[part].remat_block == steps[concat].remat_block &&
                                   steps[part].device == steps[concat].device &&
                                   can_write_to(layers[steps[part].layer].impl(), steps[part].shape) &&
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
  for (const int output : plan.outputs)
    if (output >= 0) read_later[output] = true;
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

bool have_masks(const std::vector<Layer>& layers, const std::vector<GraphCall>& calls) {
  return std::ranges::any_of(layers, [](const Layer& layer) { return layer.impl().traits().makes_masks; }) ||
         std::ranges::any_of(calls, [](const GraphCall& call) { return !call.given_masks.empty(); });
}

Plan plan_steps(const std::vector<GraphCall>& calls, const std::vector<int>& order, const std::vector<Layer>& layers,
                const std::vector<int>& outputs, bool masked) {
  Plan plan = fuse(calls, order, layers, outputs, masked);
  if (!masked) write_into_concatenations(plan, layers);  // layers compute masked sequences with other ops
  note_last_reads(plan);
  return plan;
}

}  // namespace lockstep
