#include "lockstep/models/graph/plan_execution.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/statistic_updates.h>
#include <lockstep/runtime/autograd/recompute_grad.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/trace/trace.h>

namespace lockstep {
Tensor mask_of(const LayerImpl& layer, std::span<const Tensor> inputs, std::span<const Tensor> masks) {
  const LayerTraits& traits = layer.traits();
  if (!traits.supports_masking) return {};
  if (std::ranges::any_of(masks, &Tensor::defined)) return layer.compute_mask(inputs, masks);
  return traits.makes_masks ? layer.compute_mask(inputs, std::vector<Tensor>(inputs.size())) : Tensor();
}

PlanExecution::PlanExecution(Plan plan, const std::vector<Layer>& layers, bool placed, bool masked)
    : plan_(std::move(plan)), layers_(layers), placed_(placed), masked_(masked) {}

struct PlanExecution::Placed {
  Tensor value{};
  std::vector<Tensor> more{};    ///< the further results of the layer's call
  std::vector<Tensor> copies{};  ///< made for other devices and dtypes

  /// The value in this dtype, or in its own dtype if it has integers; if `here`, on the calling thread's device.
  Tensor read(DType wanted, bool here) {
    const DType dtype = is_real(value.dtype()) ? wanted : value.dtype();
    const LogicalDevice& device = current_context().device;
    if (value.dtype() == dtype && (!here || value.device() == device)) return value;
    const auto found = std::ranges::find_if(
        copies, [&](const Tensor& copy) { return copy.dtype() == dtype && copy.device() == device; });
    if (found != copies.end()) return *found;
    return copies.emplace_back(value.dtype() == dtype ? to_device(value, device) : cast(value, dtype));
  }
};

struct PlanExecution::Run {
  Mode mode = Mode::inference;
  bool placed = false;  ///< whether layers run on their own devices; layers without one run on `home`
  LogicalDevice home{};
  std::vector<Placed> given{};
  std::vector<Placed> results{};      ///< by step
  std::vector<Placed> given_masks{};  ///< by input
  std::vector<Placed> masks{};        ///< by step; empty in a network without masks
  StatisticUpdates* statistics = nullptr;

  Placed& result(int from) { return from < 0 ? given[-1 - from] : results[from]; }
  Placed& mask(int from) { return from < 0 ? given_masks[-1 - from] : masks[from]; }
  /// The masks of the inputs of a step's layer; empty if no input has a mask. `given`: PlanStep::given_masks, or empty
  /// to read the masks that the inputs carry.
  std::vector<Tensor> read_masks(const PlanStep& step, const GivenMasks& given) {
    std::vector<Tensor> read;
    if (masks.empty()) return read;
    for (const int from : layer_inputs(step.inputs, step.given_masks)) {
      const int own = given.empty() ? carried_mask : given[read.size()];
      Placed none;
      Placed& found = own >= 0 ? result(step.inputs[own]) : own == carried_mask ? mask(from) : none;
      read.push_back(found.value.defined() ? found.read(DType::boolean, placed) : Tensor());
      if (Tensor& value = read.back(); value.defined() && value.dtype() != DType::boolean)
        value = cast(value, DType::boolean);
    }
    if (std::ranges::none_of(read, &Tensor::defined)) read.clear();
    return read;
  }
};

PlanExecution::Run PlanExecution::start(Mode mode, bool placed, const LogicalDevice& home, std::size_t inputs) const {
  Run run{.mode = mode, .placed = placed, .home = home};
  run.given.resize(inputs);
  run.given_masks.resize(inputs);
  run.results.resize(plan_.steps.size());
  if (masked_) run.masks.resize(plan_.steps.size());
  return run;
}

std::vector<Tensor> PlanExecution::run(const std::vector<Tensor>& xs, Mode mode, std::vector<Tensor>* masks,
                                       std::span<const Tensor> input_masks) const {
  // As in Keras, a model that is called in a DeviceScope runs there, even if its layers were placed elsewhere.
  const ExecutionContext& context = current_context();
  Run run = start(mode, placed_ && !context.placed, context.device, xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) run.given[i].value = xs[i];
  for (std::size_t i = 0; i < input_masks.size(); ++i) run.given_masks[i].value = input_masks[i];
  StatisticUpdates statistics;
  run.statistics = &statistics;
  for (std::size_t begin = 0, end = 0; begin < plan_.steps.size(); begin = end) {
    const int block = plan_.steps[begin].remat_block;
    for (end = begin + 1; block >= 0 && end < plan_.steps.size() && plan_.steps[end].remat_block == block;) ++end;
    if (block >= 0 && records_recomputed())
      run_recomputed(begin, end, run);
    else
      run_steps(begin, end, run);
  }
  statistics.apply();
  std::vector<Tensor> outputs;
  for (const int output : plan_.outputs) {
    outputs.push_back(run.result(output).value);
    if (masks != nullptr) masks->push_back(masked_ && output >= 0 ? run.masks[output].value : Tensor());
  }
  return outputs;
}

void PlanExecution::run_recomputed(std::size_t begin, std::size_t end, Run& run) const {
  struct Read {  // what the block reads from outside
    int from;
    Placed result;
    Placed mask;
  };
  std::vector<Read> reads;
  for (std::size_t i = begin; i < end; ++i)
    for (const int from : plan_.steps[i].inputs)
      if (from < static_cast<int>(begin) && std::ranges::find(reads, from, &Read::from) == reads.end())
        reads.push_back({from, run.result(from), masked_ ? run.mask(from) : Placed()});
  record_recomputed([&] { run_steps(begin, end, run); },
                    [self = shared_from_this(), begin, end, reads = std::move(reads), mode = run.mode,
                     placed = run.placed, home = run.home, inputs = run.given.size()] {
                      Run again = self->start(mode, placed, home, inputs);
                      for (const Read& read : reads) {
                        again.result(read.from) = read.result;
                        if (self->masked_) again.mask(read.from) = read.mask;
                      }
                      StatisticUpdates none;
                      again.statistics = &none;
                      self->run_steps(begin, end, again);
                    });
}

void PlanExecution::run_steps(std::size_t begin, std::size_t end, Run& run) const {
  for (std::size_t i = begin; i < end; ++i) {
    const PlanStep& step = plan_.steps[i];
    if (step.mode == Mode::inference) run.statistics->apply();  // it may read the statistics of a shared layer
    run_step(i, run);
    for (const int done : step.last_reads) {
      run.results[done] = {};
      if (masked_) run.masks[done] = {};
    }
  }
}

void PlanExecution::run_step(std::size_t index, Run& run) const {
  const PlanStep& step = plan_.steps[index];
  Placed& own = run.results[index];
  LayerImpl& layer = layers_[step.layer].impl();
  if (step.result > 0) {
    own.value = run.results[step.inputs[0]].more[step.result - 1];
    if (masked_ && layer.has_mask(step.result)) run.masks[index] = run.masks[step.inputs[0]];
    return;
  }
  std::optional<DeviceScope> there;
  if (run.placed) there.emplace(step.device.value_or(run.home));
  const std::string& name = layers_[step.layer].name();
  const TraceSpan span(name);
  try {
    std::vector<Tensor> inputs;
    for (const int from : layer_inputs(step.inputs, step.given_masks))
      inputs.push_back(run.result(from).read(layer.call_dtype(), run.placed));
    const std::vector<Tensor> masks = run.read_masks(step, step.given_masks);
    LayerCall call{.mode = step.mode.value_or(run.mode),
                   .fused_relu = step.fused_relu,
                   .is_output = step.is_output,
                   .use_causal_mask = step.use_causal_mask,
                   .has_given_masks = !step.given_masks.empty(),
                   .masks = masks,
                   .more_results = step.is_read_again ? &own.more : nullptr};
    if (step.concat >= 0) {
      Tensor& whole = run.results[step.concat].value;
      if (!whole.defined())
        whole = Tensor::empty(with_batch_axis(plan_.steps[step.concat].shape, inputs.front().dim(0)),
                              layer.compute_dtype());
      call.out = whole.slice_view(-1, step.concat_begin, step.concat_begin + step.shape.dim(-1));
    }
    const auto in_own_dtype = [&](const Tensor& result) {
      const bool differs = layer.compute_dtype() != layer.call_dtype() && is_real(result.dtype());
      return differs ? cast(result, layer.compute_dtype()) : result;
    };
    own.value = in_own_dtype(layer.call(inputs, call));
    for (Tensor& result : own.more) result = in_own_dtype(result);
    // As in Keras, the result has a mask given as `mask`, but not one given as `query_mask`.
    const bool has_carried = call.has_given_masks && is_multi_head_attention(layer.class_name());
    if (masked_) run.masks[index].value = mask_of(layer, inputs, has_carried ? run.read_masks(step, {}) : masks);
  } catch (Error& error) {
    error.add_context(fmt::format("layer '{}'", name));
    throw;
  }
}

}  // namespace lockstep
