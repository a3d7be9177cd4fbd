#include "lockstep/strategy/strategies/multi_worker_mirrored_strategy.h"

#include <algorithm>
#include <cmath>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/thread/wait_timer.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/launcher.h>
#include <lockstep/strategy/core/distributed_variable.h>
#include <lockstep/strategy/core/threaded_strategy.h>

namespace lockstep {
namespace {

/// The largest accepted difference between workers' initial values, relative to values above 1 and absolute below.
/// Different kinds of processors round differently.
constexpr float same_start = 1e-5F;

/// A text such as "'dense/kernel' f32 (784, 10), trainable, auto, aggregation none".
std::string text_of(const VariableSpec& spec) {
  return fmt::format(
      "'{}' {} {}, {}, {}, aggregation {}", spec.name, name(spec.dtype), spec.shape,
      spec.trainable.value_or(spec.synchronization != Synchronization::on_read) ? "trainable" : "not trainable",
      name(spec.synchronization), name(spec.aggregation));
}

/// Describes the first initial value that differs from the chief's; empty if all are equal up to same_start.
std::string difference(const Tensor& own, const Tensor& chiefs) {
  if (own.dtype() != DType::f32) return "";
  const std::span<const float> a = own.span<float>();
  const std::span<const float> b = chiefs.span<float>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::isfinite(b[i]) ? std::abs(a[i] - b[i]) <= same_start * std::max(1.0F, std::abs(b[i]))
                                          : a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same)
      return fmt::format("element {} starts as {}, the chief's as {}: give all workers the same seed", i, a[i], b[i]);
  }
  return "";
}

class MultiWorkerState final : public ThreadedStrategy {
 public:
  using ThreadedStrategy::ThreadedStrategy;

  std::shared_ptr<StrategyState> clone() const override {
    return std::make_shared<MultiWorkerState>(devices(), coordination_options());
  }

 private:
  std::shared_ptr<VariableState> create_variable(VariableSpec spec) override {
    if (Cluster* const workers = cluster()) {
      workers->agree("the creation of a variable", "the variable is", text_of(spec));
      spec.initializer = [workers, own = spec.initializer, name = spec.name](const Tensor& out) {
        notify_on_failure(workers, [&] { own(out); });
        const Tensor chiefs = Tensor::empty(out.shape(), out.dtype());
        if (workers->is_chief()) copy(out, chiefs);
        workers->broadcast("the creation of a variable",
                           {static_cast<std::byte*>(chiefs.raw_data()),
                            static_cast<std::size_t>(chiefs.elements()) * size_of(chiefs.dtype())});
        const std::string other = difference(out, chiefs);
        workers->fail_together("the creation of a variable",
                               other.empty() ? "" : fmt::format("variable '{}': {}", name, other));
        copy(chiefs, out);
      };
    }
    if (spec.synchronization == Synchronization::on_read)
      return std::make_shared<SyncOnReadVariable>(std::move(spec), devices(), weak_from_this());
    return std::make_shared<MirroredVariable>(std::move(spec), devices(), weak_from_this());
  }
};

std::shared_ptr<StrategyState> make_state(const std::vector<LogicalDevice>& devices,
                                          const MultiWorkerOptions& options) {
  const std::shared_ptr<Cluster> cluster = join_cluster(
      {.timeout = options.timeout, .silence_limit = options.silence_limit, .asked_to_end = options.asked_to_end});
  if (cluster) {
    cluster->agree("the start", "the number of replicas on each worker is", fmt::format("{}", devices.size()));
    const bool on_gpus = !devices.empty() && devices.front().kind == DeviceKind::gpu;
    cluster->agree("the start", "replicas are on", on_gpus ? "GPUs" : "CPUs");
  }
  // Replicas wait longer for each other than workers do, so that the workers' error is thrown first.
  const auto timeout = std::min<std::chrono::milliseconds>(options.timeout, longest_timeout) * (cluster ? 2 : 1);
  return std::make_shared<MultiWorkerState>(
      devices, CoordinationOptions{.timeout = timeout,
                                   .communication = {.bytes_per_pack = options.bytes_per_pack,
                                                     .wire_dtype = options.wire_dtype,
                                                     .cluster = cluster}});
}

/// Logical CPUs that share this worker's cores.
std::vector<LogicalDevice> worker_cpus(int replicas) {
  const std::size_t count = logical_cpus(replicas).size();  // throws for an invalid number
  return logical_cpus_with_cores(std::vector<int>(count, std::max(1, cores_of_process() / replicas)));
}

}  // namespace

std::vector<LogicalDevice> worker_devices(std::optional<int> replicas) {
  const int gpus = gpu_platform().count();
  const LocalProcesses here = local_processes();
  if (gpus == 0) return worker_cpus(replicas.value_or(1));
  const int own = replicas.value_or(std::max(1, gpus / here.count));
  const std::vector<LogicalDevice> all = default_devices(own * here.count);
  return {all.begin() + own * here.rank, all.begin() + own * (here.rank + 1)};
}

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy() : MultiWorkerMirroredStrategy(worker_devices()) {}

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(const std::vector<LogicalDevice>& devices,
                                                         const MultiWorkerOptions& options)
    : Strategy(make_state(devices, options)) {}

}  // namespace lockstep
