#include <lockstep/models/training/totals.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {

Totals& Totals::operator+=(const Totals& other) {
  examples += other.examples;
  loss += other.loss;
  metrics.resize(other.metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i] += other.metrics[i];
  return *this;
}

void Totals::add_to_every_loss(const Tensor& penalty) {
  loss += static_cast<double>(examples) * static_cast<double>(penalty.item<float>());
}

Logs Totals::means(const std::vector<Metric>& metrics_of_model, const std::string& prefix) const {
  Logs logs;
  if (examples == 0) return logs;
  const auto count = static_cast<double>(examples);
  logs[prefix + "loss"] = loss / count;
  for (std::size_t i = 0; i < metrics.size(); ++i) logs[prefix + metrics_of_model[i].name()] = metrics[i] / count;
  return logs;
}

Tensor losses_by_example(const Loss& loss, const Tensor& y_true, const Tensor& y_pred) {
  require(y_true.defined(), "{} needs a data set with targets, this one has only x", loss.name());
  const Tensor losses = loss(y_true, y_pred);
  require(losses.shape() == Shape{y_pred.dim(0)}, "{} must give one value for each of {} examples, it gave {}",
          loss.name(), y_pred.dim(0), losses);
  return losses;
}

Totals batch_totals(const Tensor& loss_sum, const std::vector<Metric>& metrics, const Tensor& y_true,
                    const Tensor& y_pred) {
  const NoGradientScope not_recorded;
  Totals totals{.examples = y_pred.dim(0), .loss = loss_sum.item<float>()};
  for (const Metric& metric : metrics) totals.metrics.push_back(metric.total(y_true, y_pred));
  return totals;
}

}  // namespace lockstep
