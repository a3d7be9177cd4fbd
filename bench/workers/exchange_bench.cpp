#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/bench/benchmark_program.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/reduce/bucket_plan.h>

// Measures the exchange of a step's gradients between workers, without computing. Started by mpirun, like `lockstep
// bench`.

namespace {

using namespace lockstep;

struct Options {
  std::vector<std::int64_t> elements;
  int times = 10;
};

/// Exchanges the buckets one after the other, as during backward. Returns the duration in seconds.
double exchange_s(Cluster& cluster, float* gradients, const std::vector<FlatRange>& buckets, Tensor& scratch) {
  cluster.all_gather("the start of an exchange", "");
  const auto begin = std::chrono::steady_clock::now();
  for (const FlatRange& bucket : buckets) {
    const WorkerRange range{gradients + bucket.begin, bucket.end - bucket.begin};
    all_reduce_ranges(cluster, "an exchange", ReduceOp::sum, DType::f32, std::span(&range, 1), cluster.size(), scratch,
                      Channel::gradients);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(const Options& options) {
  const std::shared_ptr<Cluster> cluster = join_cluster();
  require(cluster != nullptr, "this process is alone; start several with mpirun");
  const std::vector<FlatRange> buckets = plan_buckets(options.elements);
  const Tensor gradients = Tensor::full({buckets.back().end}, 0);
  Tensor scratch;
  exchange_s(*cluster, gradients.data<float>(), buckets, scratch);  // the first exchange connects the workers
  std::vector<double> seconds;
  for (int i = 0; i < options.times; ++i)
    seconds.push_back(exchange_s(*cluster, gradients.data<float>(), buckets, scratch));
  std::ranges::sort(seconds);
  const nlohmann::ordered_json result{
      {"workers", cluster->size()},      {"bytes", buckets.back().end * static_cast<std::int64_t>(sizeof(float))},
      {"buckets", buckets.size()},       {"median_ms", 1e3 * seconds[seconds.size() / 2]},
      {"min_ms", 1e3 * seconds.front()}, {"max_ms", 1e3 * seconds.back()}};
  if (cluster->is_chief()) fmt::print("{}\n", result.dump());
}

int run(int argc, char** argv) {
  CLI::App program("The exchange of gradients between workers, with nothing beside it.", "exchange_bench");
  Options options;
  program
      .add_option("--elements", options.elements,
                  "number of each layer's gradient elements, in the order of backward, e.g. 10,20")
      ->delimiter(',')
      ->required()
      ->check(CLI::PositiveNumber);
  program.add_option("--times", options.times, "measured exchanges (default 10)")->check(CLI::Range(1, 1000000));
  return run_benchmark_program(program, argc, argv, [&] { run(options); });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
