#include "lockstep/models/training/class_weight.h"

#include <cmath>
#include <vector>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

bool has_one_by_row(const Tensor& y) { return y.rank() == 1 || (y.rank() == 2 && y.dim(1) == 1); }

std::vector<double> classes_of(const Tensor& y) {
  if (has_one_by_row(y)) return y.to_vector<double>();
  require(y.defined() && y.rank() == 2 && y.dim(1) > 1,
          "class weights need targets (n), (n, 1) or one-hot (n, classes), got {}", y);
  return argmax(y.dtype() == DType::f32 ? y : cast(y, DType::f32), -1).to_vector<double>();
}

}  // namespace

ClassWeight balanced_class_weight(const Tensor& labels) {
  const bool integers =
      labels.defined() && (labels.dtype() == DType::u8 || labels.dtype() == DType::i32 || labels.dtype() == DType::i64);
  require(integers && has_one_by_row(labels) && labels.elements() > 0,
          "balanced class weights need labels (n) or (n, 1) of u8, i32 or i64, got {}", labels);
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t label : labels.to_vector<std::int64_t>()) ++counts[label];
  const double share = static_cast<double>(labels.elements()) / static_cast<double>(counts.size());
  ClassWeight weights;
  for (const auto& [label, count] : counts) weights[label] = share / static_cast<double>(count);
  return weights;
}

Batch with_class_weight(const Batch& batch, const ClassWeight& class_weight) {
  if (class_weight.empty()) return batch;
  require(batch.sample_weights.empty(), "class weights and sample weights cannot be used at the same time");
  const NoGradientScope not_recorded;
  std::vector<float> weights;
  for (const double label : classes_of(batch.y())) {
    const auto found = class_weight.find(std::llround(label));
    weights.push_back(found == class_weight.end() ? 1.0F : static_cast<float>(found->second));
  }
  Batch weighted = batch;
  weighted.sample_weights = {Tensor::from(weights, {static_cast<std::int64_t>(weights.size())})};
  return weighted;
}

}  // namespace lockstep
