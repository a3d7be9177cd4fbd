#include <algorithm>
#include <initializer_list>
#include <vector>

#include <benchmark/benchmark.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

// The cost of the strategy itself: an empty step, a barrier, an all_reduce of one number. With more replicas than cores
// it includes the operating system's thread switching.

namespace lockstep {
namespace {

/// Runs the benchmark with each number of replicas and measures wall time. Adds the minimum over the repetitions, which
/// other load on the machine affects least.
void measure(benchmark::internal::Benchmark* benchmark, std::initializer_list<int> replicas) {
  for (const int number : replicas) benchmark->Arg(number);
  benchmark->UseRealTime()->ComputeStatistics(
      "min", [](const std::vector<double>& repetitions) { return *std::ranges::min_element(repetitions); });
}

void run_an_empty_step(benchmark::State& state) {
  const MirroredStrategy strategy(logical_cpus(static_cast<int>(state.range(0))));
  for (auto _ : state) strategy.run([] {});
}
BENCHMARK(run_an_empty_step)->Apply([](auto* benchmark) { measure(benchmark, {1, 2, 4, 8}); });

/// Makes `times` calls in one step, so that the step's own cost does not show.
template <class Call>
void repeat_in_a_step(benchmark::State& state, const Call& call) {
  constexpr int times = 100;
  const MirroredStrategy strategy(logical_cpus(static_cast<int>(state.range(0))));
  for (auto _ : state)
    strategy.run([&] {
      const ReplicaContext context = get_replica_context();
      for (int i = 0; i < times; ++i) call(context);
    });
  state.counters["per_call"] = benchmark::Counter(static_cast<double>(state.iterations()) * times,
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void barrier_100_times(benchmark::State& state) {
  repeat_in_a_step(state, [](const ReplicaContext& context) { context.barrier("the benchmark's barrier"); });
}
BENCHMARK(barrier_100_times)->Apply([](auto* benchmark) { measure(benchmark, {2, 4, 8}); });

void all_reduce_a_number_100_times(benchmark::State& state) {
  repeat_in_a_step(state, [](const ReplicaContext& context) {
    benchmark::DoNotOptimize(context.all_reduce(ReduceOp::sum, Tensor::full({}, 1)));
  });
}
BENCHMARK(all_reduce_a_number_100_times)->Apply([](auto* benchmark) { measure(benchmark, {2, 4, 8}); });

}  // namespace
}  // namespace lockstep
