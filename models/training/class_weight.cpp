#include "lockstep/models/training/class_weight.h"

#include <cmath>
#include <vector>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

std::vector<double> classes_of(const Tensor& y) {
  if (y.rank() == 1 || (y.rank() == 2 && y.dim(1) == 1)) return y.to_vector<double>();
  require(y.defined() && y.rank() == 2 && y.dim(1) > 1,
          "class weights need targets (n), (n, 1) or one-hot (n, classes), got {}", y);
  return argmax(y.dtype() == DType::f32 ? y : cast(y, DType::f32)).to_vector<double>();
}

}  // namespace

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
