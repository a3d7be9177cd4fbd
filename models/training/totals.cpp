#include <lockstep/kernels/ops/array.h>
#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/models/training/totals.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {

Totals& Totals::operator+=(const Totals& other) {
  examples += other.examples;
  loss += other.loss;
  metrics.resize(other.metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) add_sums(metrics[i], other.metrics[i]);
  return *this;
}

void Totals::add_to_every_loss(const Tensor& penalty) {
  loss += static_cast<double>(examples) * static_cast<double>(penalty.item<float>());
}

Logs Totals::results(const std::vector<CompiledMetric>& metrics_of_model) const {
  Logs logs;
  if (examples == 0) return logs;
  logs["loss"] = loss / static_cast<double>(examples);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const Metric& metric = metrics_of_model[i].metric;
    logs[metric.name()] = metric.result(metrics[i]);
  }
  return logs;
}

Tensor weighted_loss(const Loss& loss, const Batch& batch, const Tensor& y_pred) {
  require(batch.y.defined(), "{} needs a data set with targets, this one has only x", loss.name());
  const Tensor losses = loss(batch.y, y_pred);
  require(losses.shape() == Shape{y_pred.dim(0)}, "{} must give one value for each of {} examples, it gave {}",
          loss.name(), y_pred.dim(0), losses);
  const Tensor& weight = batch.sample_weight;
  if (!weight.defined()) return sum(losses);
  require(weight.elements() == losses.elements(), "{} examples need as many sample weights, got {}", losses.elements(),
          weight);
  const Tensor by_example = reshape(weight, losses.shape());
  return sum(losses * (weight.dtype() == DType::f32 ? by_example : cast(by_example, DType::f32)));
}

Totals batch_totals(const Tensor& loss_sum, const std::vector<CompiledMetric>& metrics, const Batch& batch,
                    const Tensor& y_pred) {
  const NoGradientScope not_recorded;
  Totals totals{.examples = y_pred.dim(0), .loss = loss_sum.item<float>()};
  for (const CompiledMetric& compiled : metrics)
    totals.metrics.push_back(
        compiled.metric.update(batch.y, y_pred, compiled.weighted ? batch.sample_weight : Tensor()));
  return totals;
}

}  // namespace lockstep
