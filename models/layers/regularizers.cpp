#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/models/layers/regularizers.h>

namespace lockstep {
namespace {

void check_factor(const char* regularizer, double factor) {
  require(factor >= 0, "{} needs a factor of at least 0, got {}", regularizer, factor);
}

}  // namespace

Regularizer L1(double factor) {
  check_factor("L1", factor);
  return [factor](const Tensor& weight) { return multiply(sum(abs(weight)), factor); };
}

Regularizer L2(double factor) {
  check_factor("L2", factor);
  return [factor](const Tensor& weight) { return multiply(sum(square(weight)), factor); };
}

Regularizer L1L2(double l1, double l2) {
  return [first = L1(l1), second = L2(l2)](const Tensor& weight) { return add(first(weight), second(weight)); };
}

}  // namespace lockstep
