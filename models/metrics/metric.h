#pragma once

#include <functional>
#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A mean over examples. Each replica sums its own; totals and counts are added over the replicas when it is read, so
/// it is exact for uneven batches.
class Metric {
 public:
  /// The sum over the examples of what is averaged: (y_true, y_pred) -> total; the count is the number of examples.
  using Function = std::function<double(const Tensor& y_true, const Tensor& y_pred)>;
  /// `name` is what logs call it.
  Metric(std::string name, Function total) : name_(std::move(name)), total_(std::move(total)) {}

  /// As given.
  const std::string& name() const { return name_; }
  /// The examples' sum.
  double total(const Tensor& y_true, const Tensor& y_pred) const { return total_(y_true, y_pred); }

 private:
  std::string name_;
  Function total_;
};

/// Share of examples whose largest prediction is the label; for one output, whose prediction rounds to it at 0.5.
struct Accuracy : Metric {
  Accuracy();
};

}  // namespace lockstep
