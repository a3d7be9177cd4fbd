#include "speed.h"

#include <algorithm>

#include "interrupt.h"

namespace lockstep::cli {
namespace {

double median_of_phase(std::span<const StepReport> steps, Phase phase) {
  std::vector<double> values;
  for (const StepReport& step : steps) values.push_back(step.split_ms[static_cast<std::size_t>(phase)]);
  return quantile(std::move(values), 0.5);
}

}  // namespace

std::vector<double> MeasuredSteps::step_ms() const {
  std::vector<double> ms;
  for (const StepReport& step : measured) ms.push_back(step.step_ms);
  return ms;
}

MeasuredSteps train_at_speed(Model& model, ModelKind kind, const SpeedRun& run) {
  const Example examples = synthetic_examples(usual_form(kind), run.global_batch, run.seed);
  const Dataset batches = Dataset::from_tensors(examples.inputs(), examples.y).batch(run.global_batch).repeat();
  const auto record = std::make_shared<RunRecord>();
  model.fit(batches, {.steps_per_epoch = run.warmup + run.steps,
                      .callbacks = {record, std::make_shared<InterruptCallback>()},
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
          {"split_ms",
           {{"input", median_of_phase(steps.measured, Phase::input)},
            {"compute", median_of_phase(steps.measured, Phase::compute)},
            {"reduce", median_of_phase(steps.measured, Phase::reduce)},
            {"update", median_of_phase(steps.measured, Phase::update)}}}};
}

}  // namespace lockstep::cli
