#include "lockstep/models/training/step_graphs.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <lockstep/kernels/op/layout.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep {
namespace {

/// The number of shapes for which steps are kept: full batches, the last batch of an epoch, and two more.
constexpr std::size_t most_steps = 4;
/// The number of warm-ups after which a step is considered not to use the same memory again.
constexpr int most_warm_ups = 4;

std::vector<Tensor> tensors_of(const Batch& batch) {
  std::vector<Tensor> tensors;
  batch.each([&](const Tensor& tensor) { return tensors.emplace_back(tensor); });
  return tensors;
}

}  // namespace

std::string why_not_captured(const StepCompute& compute, const std::vector<LogicalDevice>& devices) {
  for (const Layer& layer : compute.network().layers())
    if (!layer.impl().traits().can_be_captured)
      return fmt::format("a layer of class {} ('{}') cannot be captured", layer.impl().class_name(), layer.name());
  for (const Layer& layer : compute.network().layers())
    if (layer.impl().traits().makes_masks)
      return fmt::format("layer '{}' makes masks, and the replicas must sum the numbers of unmasked steps",
                         layer.name());
  for (const CompiledOutput& output : compute.outputs())
    if (output.loss && output.loss->keras_config() == nullptr)
      return fmt::format("the loss '{}' is a custom one", output.loss->name());
  for (const CompiledOutput& output : compute.outputs())
    if (output.loss && output.loss->config()->options->contains("ignore_class"))
      return fmt::format("the loss '{}' has ignore_class, and the replicas must sum their numbers of labels",
                         output.loss->name());
  for (const LogicalDevice& device : devices)
    if (device.memory_limit > 0) return fmt::format("the memory of {} is limited", device.name());
  return {};
}

StepGraphs::Key StepGraphs::key_of(const Batch& local, std::int64_t global_size) {
  Key key{.global_size = global_size, .inputs = local.inputs.size(), .targets = local.targets.size(), .tensors = {}};
  for (const Tensor& tensor : tensors_of(local)) key.tensors.emplace_back(tensor.dtype(), tensor.shape());
  return key;
}

StepGraphs::Step* StepGraphs::known(const Key& key) {
  const auto found = std::ranges::find_if(steps_, [&](const auto& step) { return step->key == key; });
  if (found == steps_.end()) return nullptr;
  std::rotate(found, std::next(found), steps_.end());
  return steps_.back().get();
}

Forward StepGraphs::run(const Batch& local, std::int64_t global_size) {
  // For a batch without rows, ops decide on the host what to do.
  if (given_up_ || local.size() == 0) return compute_.run(local, global_size);
  Key key = key_of(local, global_size);
  Step* const step = known(key);
  if (step == nullptr) {
    if (steps_.size() == most_steps) steps_.erase(steps_.begin());
    steps_.push_back(std::make_unique<Step>(Step{.key = std::move(key)}));
    return compute_.run(local, global_size);
  }
  if (step->captured && step->captured->variables != addresses()) {
    step->captured.reset();
    step->repeats = false;
  }
  take_in(*step, local);
  if (!step->captured && step->repeats) capture(*step);
  if (given_up_) return compute_.run(local, global_size);
  return step->captured ? launch(*step) : warm_up(*step);
}

void StepGraphs::take_in(Step& step, const Batch& local) {
  if (step.inputs.inputs.empty()) {
    if (steps_.size() == 1) allocator(gpu_).release_cache();  // frees memory that was used by steps without graphs
    const MemoryPoolScope apart(pool_);
    step.inputs = local.each([&](const Tensor& tensor) { return Tensor::empty(tensor.shape(), tensor.dtype(), gpu_); });
  }
  const std::vector<Tensor> from = tensors_of(local);
  const std::vector<Tensor> to = tensors_of(step.inputs);
  for (std::size_t i = 0; i < from.size(); ++i) copy(make_dense(from[i]), to[i]);
}

Forward StepGraphs::warm_up(Step& step) {
  const std::uint64_t before = pool_.stats().system_allocations;
  Forward forward;
  {
    const MemoryPoolScope apart(pool_);
    const CaptureWarmUp keeping;
    try {
      forward = compute_.run(step.inputs, step.key.global_size);
    } catch (OutOfMemory& error) {
      error.add_context("in the memory pool for CUDA graphs; without cuda_graphs, steps need less memory");
      throw;
    }
  }
  step.repeats = pool_.stats().system_allocations == before;
  if (++step.warm_ups == most_warm_ups && !step.repeats) give_up("steps allocate different memory each time");
  return forward;
}

void StepGraphs::capture(Step& step) {
  try {
    const MemoryPoolScope apart(pool_);
    pool_.keep_all();  // before the capture: other threads that run out of memory release what a pool does not keep
    GpuCapture capture(gpu_);
    GradientTape tape;
    Captured captured;
    captured.forward = compute_.forward(step.inputs, step.key.global_size);
    captured.variables = addresses();
    captured.gradients =
        compute_.optimizer().capture_gradients(capture, tape, captured.forward.loss, compute_.trainable());
    step.captured = std::move(captured);
  } catch (const Error& error) {  // the step has computed and exchanged nothing yet
    give_up(error.what());
  }
}

Forward StepGraphs::launch(const Step& step) const {
  compute_.optimizer().minimize(step.captured->gradients, compute_.trainable());
  return step.captured->forward;
}

std::vector<const void*> StepGraphs::addresses() const {
  const int replica = std::max(0, current_context().replica);
  std::vector<const void*> all;
  for (const Variable& variable : compute_.network().variables())
    all.push_back(variable.state().copy_for(replica).raw_data());
  return all;
}

void StepGraphs::give_up(const char* why) {
  given_up_ = true;
  steps_.clear();
  pool_ = MemoryPool(gpu_);  // the old pool's memory is freed when its last tensor is
  if (!warned_.exchange(true)) log_warning("CUDA graphs are not used: {}", why);
}

}  // namespace lockstep
