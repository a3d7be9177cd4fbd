#include "speed.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "interrupt.h"

namespace lockstep::cli {
namespace {

template <class Value>
double median_of(std::span<const StepReport> steps, const Value& value) {
  std::vector<double> values;
  for (const StepReport& step : steps) values.push_back(value(step));
  return quantile(std::move(values), 0.5);
}

double median_of_phase(std::span<const StepReport> steps, Phase phase) {
  return median_of(steps, [phase](const StepReport& step) { return step.split_ms[static_cast<std::size_t>(phase)]; });
}

}  // namespace

std::vector<double> MeasuredSteps::step_ms() const {
  std::vector<double> ms;
  for (const StepReport& step : measured) ms.push_back(step.step_ms);
  return ms;
}

MeasuredSteps train_at_speed(Model& model, ModelKind kind, const SpeedRun& run) {
  const Example examples = synthetic_examples(usual_form(kind), run.global_batch, run.seed);
  const Dataset batches = Dataset::from_tensors(examples).batch(run.global_batch);
  const auto record = std::make_shared<RunRecord>(run.seed);
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  require(run.warmup <= most && run.steps <= most - run.warmup, "--warmup and --steps: at most {} together", most);
  // Each epoch has one step and passes over the same batch, which stays on the devices.
  model.fit(batches, {.epochs = static_cast<int>(run.warmup + run.steps),
                      .callbacks = {record, std::make_shared<InterruptCallback>()},
                      .verbose = 0,
                      .distribute = {.cache_on_devices = true},
                      .cuda_graphs = run.cuda_graphs});
  const std::span<const StepReport> all = record->steps();
  require<Error>(static_cast<std::int64_t>(all.size()) > run.warmup, "interrupted before the first measured step");
  return {record, all.subspan(static_cast<std::size_t>(run.warmup))};
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

nlohmann::ordered_json speed_json(const MeasuredSteps& steps, std::int64_t global_batch) {
  const std::vector<double> ms = steps.step_ms();
  const double median = quantile(ms, 0.5);
  return {{"examples_per_s", 1000.0 * static_cast<double>(global_batch) / median},
          {"step_ms", {{"median", median}, {"p10", quantile(ms, 0.1)}, {"p90", quantile(ms, 0.9)}}},
          {"host_ms", median_of(steps.measured, [](const StepReport& step) { return step.host_ms; })},
          {"split_ms",
           {{"input", median_of_phase(steps.measured, Phase::input)},
            {"compute", median_of_phase(steps.measured, Phase::compute)},
            {"reduce", median_of_phase(steps.measured, Phase::reduce)},
            {"update", median_of_phase(steps.measured, Phase::update)}}}};
}

}  // namespace lockstep::cli
