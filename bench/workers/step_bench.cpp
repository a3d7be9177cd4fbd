#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/bench/benchmark_program.h>
#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/strategies/multi_worker_mirrored_strategy.h>

// Trains the step of a step file on simulated devices: where a layer would compute, the replica's thread sleeps, as it
// waits for a GPU. Everything else is real: tape, buckets, exchange concurrent with backward, update.

namespace {

using namespace lockstep;
using simulation::BackwardLayer;
using simulation::MeasuredStep;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string step;
  int replicas = 1;
  int steps = 5;
  int warmup = 1;
};

std::chrono::nanoseconds duration_of(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds));
}

/// A layer that returns zeros and whose backward takes `seconds`. Each replica's gradient of the weights is 1
/// everywhere and final at the end of that time.
Tensor layer_that_waits(const Tensor& x, const Variable& weights, double seconds) {
  const Tensor y = Tensor::full(x.shape(), 0);
  record("layer that waits", {x, weights.value()}, y, [seconds, shape = weights.shape()](BackwardContext& c) {
    const Clock::time_point end = Clock::now() + duration_of(seconds);
    contribute(c, 1, shape, [](const Tensor& out) { launch(kernels::Fill{out, 1}); });
    std::this_thread::sleep_until(end);
    pass_on(c, 0, c.gradient(0));
  });
  return y;
}

/// Weights of the layers, in the order of forward.
std::vector<Variable> weights_of(const MeasuredStep& step, const Strategy& strategy) {
  constexpr auto element = static_cast<std::int64_t>(sizeof(float));
  const auto inside = strategy.scope();
  std::vector<Variable> weights;
  for (auto layer = step.backward.rbegin(); layer != step.backward.rend(); ++layer)
    weights.emplace_back(VariableSpec{.name = layer->name,
                                      .shape = {(layer->gradient_bytes + element - 1) / element},
                                      .initializer = [](const Tensor& out) {
                                        launch(kernels::Fill{out, 0});
                                      }});
  return weights;
}

void train_step(const MeasuredStep& step, const std::vector<Variable>& weights, const Optimizer& optimizer) {
  std::this_thread::sleep_for(duration_of(step.overhead_s + step.forward_s));
  GradientTape tape;
  Tensor x = Tensor::full({1}, 0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    x = layer_that_waits(x, weights[i], step.backward[weights.size() - 1 - i].seconds);
  optimizer.minimize(tape, x, weights);
  std::this_thread::sleep_for(duration_of(step.update_s));
}

/// Checks that every step subtracted the sum of all replicas' gradients from every weight.
void check_sums(const std::vector<Variable>& weights, int replicas, int steps) {
  const auto expected = static_cast<float>(-replicas * steps);
  for (const Variable& variable : weights) {
    const Tensor found = variable.value();
    for (const float value : found.span<float>())
      require<BrokenInvariant>(value == expected, "'{}' should be {}, and is {}", variable.name(), expected, value);
  }
}

void run(const Options& options) {
  const MeasuredStep step = simulation::read_step(options.step);
  const MultiWorkerMirroredStrategy strategy(worker_devices(options.replicas));
  const std::vector<Variable> weights = weights_of(step, strategy);
  const SGD optimizer({.learning_rate = 1});
  std::vector<double> ms;
  for (int i = 0; i < options.warmup + options.steps; ++i) {
    const Clock::time_point begin = Clock::now();
    strategy.run([&] { train_step(step, weights, optimizer); });
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  const int replicas = strategy.num_replicas_in_sync();
  check_sums(weights, replicas, options.warmup + options.steps);
  if (!strategy.is_chief()) return;
  ms.erase(ms.begin(), ms.begin() + options.warmup);
  std::ranges::sort(ms);
  const nlohmann::ordered_json result{
      {"replicas", replicas}, {"median_ms", ms[ms.size() / 2]}, {"min_ms", ms.front()}, {"max_ms", ms.back()}};
  fmt::print("{}\n", result.dump());
}

int run(int argc, char** argv) {
  CLI::App program("Steps of data-parallel training whose layers wait instead of computing.", "step_bench");
  Options options;
  program.add_option("--step", options.step, "a step file of bench/simulator")->required();
  program.add_option("--replicas", options.replicas, "replicas of each process (default 1)")->check(CLI::Range(1, 64));
  program.add_option("--steps", options.steps, "measured steps (default 5)")->check(CLI::Range(1, 1000000));
  program.add_option("--warmup", options.warmup, "warm-up steps (default 1)")->check(CLI::Range(0, 1000000));
  return run_benchmark_program(program, argc, argv, [&] { run(options); });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
