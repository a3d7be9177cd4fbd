#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/models/metrics/metric.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

double matches(const std::vector<double>& a, const std::vector<double>& b) {
  double count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 1 : 0;
  return count;
}

double count_correct(const Tensor& y_true, const Tensor& y_pred) {
  const NoGradientScope not_recorded;
  require(y_pred.rank() == 2 && y_true.defined() && y_true.elements() == y_pred.dim(0),
          "accuracy compares labels (n) or (n, 1) with predictions (n, k), got {} and {}", y_true, y_pred);
  const std::vector<double> labels = y_true.to_vector<double>();
  if (y_pred.dim(1) > 1) return matches(labels, argmax(y_pred).to_vector<double>());
  std::vector<double> rounded = y_pred.to_vector<double>();
  for (double& prediction : rounded) prediction = prediction > 0.5 ? 1 : 0;
  return matches(labels, rounded);
}

}  // namespace

Accuracy::Accuracy() : Metric("accuracy", count_correct) {}

}  // namespace lockstep
