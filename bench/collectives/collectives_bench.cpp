// Google Benchmark of the all-reduce between a MirroredStrategy's replicas: on CPUs with each kind of cross-device ops,
// on GPUs with the kind chosen automatically. For comparison, a copy by one thread.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep {
namespace {

constexpr std::int64_t kibi = 1024;
constexpr std::int64_t mebi = 1024 * kibi;

struct Size {
  const char* name;
  std::int64_t bytes;
};

constexpr Size sizes[] = {
    {"4KiB", 4 * kibi}, {"256KiB", 256 * kibi}, {"6MiB", 6 * mebi}, {"25MiB", 25 * mebi}, {"100MiB", 100 * mebi}};
constexpr int warmup_steps = 3;  ///< until the kernel has replaced the memory's pages by huge pages
constexpr int replica_counts[] = {1, 2, 4};
const LogicalDevice host;
constexpr CrossDeviceOps ways_on_cpus[] = {CrossDeviceOps::shared_memory, CrossDeviceOps::hierarchical_copy,
                                           CrossDeviceOps::reduction_to_one_device};

/// Element of the tensor that replica `replica` contributes: integers below 256, whose sums are exact in every order.
float brought(int replica, std::int64_t element) { return static_cast<float>((element + 1) * (2 * replica + 3) % 251); }

Tensor values_of(int replica, std::int64_t elements) {
  const Tensor values = Tensor::empty({elements}, DType::f32, host);
  for (std::int64_t i = 0; i < elements; ++i) values.data<float>()[i] = brought(replica, i);
  return values;
}

void verify(const Tensor& computed, int replicas) {
  const Tensor sum = to_device(computed, host);
  for (std::int64_t i = 0; i < sum.elements(); ++i) {
    float expected = 0;
    for (int replica = 0; replica < replicas; ++replica) expected += brought(replica, i);
    const float found = sum.data<float>()[i];
    require<BrokenInvariant>(found == expected, "element {} of a sum is {}, not {}", i, found, expected);
  }
}

void report_rate(benchmark::State& state, const char* counter, double bytes) {
  state.counters[counter] = benchmark::Counter(static_cast<double>(state.iterations()) * bytes,
                                               benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

/// Short calls are repeated in one step, so that the step's own cost does not show.
void all_reduce(benchmark::State& state, CrossDeviceOps way, std::int64_t bytes,
                const std::vector<LogicalDevice>& devices) {
  const MirroredStrategy strategy(devices, {.cross_device_ops = way});
  const auto replicas = static_cast<int>(devices.size());
  std::vector<Tensor> values(static_cast<std::size_t>(replicas));
  strategy.run([&] {
    const ReplicaContext context = get_replica_context();
    Tensor& own = values[static_cast<std::size_t>(context.replica_id_in_sync_group())];
    own = to_device(values_of(context.replica_id_in_sync_group(), bytes / static_cast<std::int64_t>(sizeof(float))),
                    current_context().device);
    verify(context.all_reduce(ReduceOp::sum, own), replicas);
  });
  const std::int64_t calls = std::clamp<std::int64_t>(100 * mebi / bytes, 10, 100);
  const auto step = [&] {
    const ReplicaContext context = get_replica_context();
    const Tensor& own = values[static_cast<std::size_t>(context.replica_id_in_sync_group())];
    for (std::int64_t call = 0; call < calls; ++call) benchmark::DoNotOptimize(context.all_reduce(ReduceOp::sum, own));
  };
  const auto run = [&] {
    strategy.run(step);
    for (const LogicalDevice& device : devices) synchronize(device);
  };
  for (int i = 0; i < warmup_steps; ++i) run();
  while (state.KeepRunningBatch(calls)) run();
  report_rate(state, "bytes_per_s", static_cast<double>(bytes));
  // Bus bandwidth as in nccl-tests: the bytes that a ring sends over each link, whatever the algorithm used.
  report_rate(state, "bus_bytes_per_s", 2.0 * (replicas - 1) / replicas * static_cast<double>(bytes));
}

void copy_on_one_thread(benchmark::State& state, std::int64_t bytes) {
  const Tensor from = values_of(0, bytes / static_cast<std::int64_t>(sizeof(float)));
  const Tensor to = Tensor::empty(from.shape());
  const auto copy = [&] { std::memcpy(to.data<float>(), from.data<float>(), static_cast<std::size_t>(bytes)); };
  copy();
  verify(to, 1);
  for (auto _ : state) {
    copy();
    benchmark::ClobberMemory();
  }
  report_rate(state, "bytes_per_s", static_cast<double>(bytes));
}

void add_all() {
  for (const Size& size : sizes)
    benchmark::RegisterBenchmark(fmt::format("memcpy/{}", size.name).c_str(), copy_on_one_thread, size.bytes)
        ->UseRealTime();
  for (const CrossDeviceOps way : ways_on_cpus)
    for (const int replicas : replica_counts)
      for (const Size& size : sizes)
        benchmark::RegisterBenchmark(fmt::format("all_reduce/{}/{}/{}", name(way), replicas, size.name).c_str(),
                                     all_reduce, way, size.bytes, logical_cpus(replicas))
            ->UseRealTime();
}

/// With a GPU for each replica (then NCCL reduces), or sharing GPUs if there are more replicas.
void add_on_gpus() {
  std::set<int> counts(std::begin(replica_counts), std::end(replica_counts));
  counts.insert(static_cast<int>(default_devices().size()));
  for (const int replicas : counts)
    for (const Size& size : sizes)
      benchmark::RegisterBenchmark(fmt::format("gpus/{}/{}", replicas, size.name).c_str(), all_reduce,
                                   CrossDeviceOps::automatic, size.bytes, logical_gpus(replicas))
          ->UseRealTime();
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  lockstep::add_all();
  if (lockstep::why_no_gpu().empty()) lockstep::add_on_gpus();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
