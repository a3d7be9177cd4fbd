#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/bench/benchmark_program.h>
#include <lockstep/runtime/core/error.h>

#include "models.h"
#include "ways.h"

// Times the steps of a libtorch module that is trained over replicas in one of several ways. The data and the initial
// parameters are those of bench/peers/pytorch_ddp.py.

namespace {

using namespace lockstep;
using bench::Net;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t seed = 1;  // SEED of bench/peers/peer.py

struct Options {
  std::string model = "resnet50-96";
  std::string way = "lockstep";
  int replicas = 2;
  int batch = 16;
  int steps = 10;
  int warmup = 3;
  bool channels_last = true;
};

/// As in WORKLOADS of bench/peers/pytorch_models.py.
struct Workload {
  Net (*make)();
  std::vector<std::int64_t> shape;  ///< of an example
  std::int64_t classes;
  std::int64_t vocabulary;  ///< number of token ids; 0 if examples are not tokens
  double learning_rate;
};

const std::map<std::string, Workload> workloads{
    {"resnet50", {bench::resnet50, {3, 224, 224}, 1000, 0, 0.1}},
    {"resnet50-96", {bench::resnet50, {3, 96, 96}, 1000, 0, 0.1}},
    {"transformer", {bench::transformer, {64}, 10, 1000, 0.01}},
};

const std::map<std::string, bench::Way> ways {
  {"lockstep", bench::lockstep_libtorch},
#if LOCKSTEP_HAVE_CUDA
      {"data-parallel", bench::data_parallel},
#endif
      {"by-hand", bench::by_hand}, {"one", bench::one},
};

template <class T>
std::vector<std::string> names_of(const std::map<std::string, T>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

Net make_seeded(const Workload& workload) {
  torch::manual_seed(seed);
  return workload.make();
}

bench::Work work_of(const Workload& workload, const Options& options) {
  make_seeded(workload);  // as in the peer, examples are drawn after the initial parameters
  const torch::Tensor labels = torch::randint(workload.classes, {options.batch});
  std::vector<std::int64_t> shape{options.batch};
  shape.insert(shape.end(), workload.shape.begin(), workload.shape.end());
  bench::Work work{.make = [&workload] { return make_seeded(workload); },
                   .inputs = workload.vocabulary > 0 ? torch::randint(workload.vocabulary, shape) : torch::randn(shape),
                   .labels = labels,
                   .learning_rate = workload.learning_rate,
                   .replicas = options.replicas};
  if (options.channels_last && work.inputs.dim() == 4)
    work.inputs = work.inputs.contiguous(torch::MemoryFormat::ChannelsLast);
  return work;
}

/// Trained parameters and the moving statistics of batch normalization, as bench/peers counts them.
std::int64_t count_params(const Net& net) {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : net->parameters()) count += parameter.numel();
  for (const torch::Tensor& buffer : net->buffers()) count += buffer.is_floating_point() ? buffer.numel() : 0;
  return count;
}

void check_equal(const std::vector<Net>& nets) {
  const auto first = nets.front()->named_parameters();
  for (const Net& net : nets)
    for (const auto& item : net->named_parameters())
      require<BrokenInvariant>(item.value().equal(first[item.key()]),
                               "'{}' should be equal on all replicas, and differs", item.key());
}

/// Linear interpolation, as percentile() of bench/peers/peer.py.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return std::lerp(sorted[low], sorted[high], position - static_cast<double>(low));
}

void run(const Options& options) {
  require(options.batch % options.replicas == 0, "--batch-size must be a multiple of --replicas");
  const bench::Training training = ways.at(options.way)(work_of(workloads.at(options.model), options));
  std::vector<double> losses;
  std::vector<double> ms;
  for (int i = 0; i < options.warmup + options.steps; ++i) {
    const Clock::time_point begin = Clock::now();
    losses.push_back(training.step());
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  check_equal(training.nets);
  ms.erase(ms.begin(), ms.begin() + options.warmup);
  std::ranges::sort(ms);
  const double median = quantile(ms, 0.5);
  const nlohmann::ordered_json report{
      {"way", options.way},
      {"model", options.model},
      {"replicas", options.replicas},
      {"global_batch", options.batch},
      {"examples_per_s", options.batch / median * 1e3},
      {"step_ms", {{"median", median}, {"p10", quantile(ms, 0.1)}, {"p90", quantile(ms, 0.9)}}},
      {"loss_first", losses.front()},
      {"loss_last", losses.back()},
      {"params", count_params(training.nets.front())},
      {"channels_last", options.channels_last},
      {"steps", options.steps},
      {"warmup", options.warmup},
  };
  fmt::print("{}\n", report.dump());
}

int run(int argc, char** argv) {
  CLI::App program("Steps of a libtorch module that is trained over replicas.", "libtorch_bench");
  Options options;
  program.add_option("--model", options.model, "model")
      ->check(CLI::IsMember(names_of(workloads)))
      ->capture_default_str();
  program.add_option("--way", options.way, "how it is trained; 'one' is one module with all cores")
      ->check(CLI::IsMember(names_of(ways)))
      ->capture_default_str();
  program.add_option("--replicas", options.replicas, "replicas")->check(CLI::Range(1, 64))->capture_default_str();
  program.add_option("--batch-size", options.batch, "global batch, split evenly")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  program.add_option("--steps", options.steps, "measured steps")->check(CLI::Range(1, 1000000))->capture_default_str();
  program.add_option("--warmup", options.warmup, "steps before them")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  program.add_flag("--channels-last,!--no-channels-last", options.channels_last, "NHWC storage of images (default on)");
  return run_benchmark_program(program, argc, argv, [&] { run(options); });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
