#include "lockstep/models/losses/hinge.h"

#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

/// max(1 - y p, 0) of each element.
Tensor hinge(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  const Tensor y = targets_like(loss, y_true, y_pred);
  const Tensor are_binary = all(logical_or(equal(y, 0.0), equal(y, 1.0)));
  return maximum(1.0 - where(are_binary, y * 2.0 - 1.0, y) * y_pred, 0.0);
}

Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred) {
  require(y_pred.rank() >= 2 && y_pred.dim(-1) >= 1, "categorical_hinge takes predictions (n, ..., classes), got {}",
          y_pred);
  const Tensor y = targets_like("categorical_hinge", y_true, y_pred);
  const Tensor own = sum(y * y_pred, {-1});
  const Tensor best_other = max((1.0 - y) * y_pred, {-1});
  return mean_by_example(maximum(best_other - own + 1.0, 0.0));
}

}  // namespace

Hinge::Hinge()
    : Loss(
          "hinge",
          [](const Tensor& y_true, const Tensor& y_pred) { return mean_by_example(hinge("hinge", y_true, y_pred)); },
          ObjectConfig{"Hinge"}) {}

SquaredHinge::SquaredHinge()
    : Loss(
          "squared_hinge",
          [](const Tensor& y_true, const Tensor& y_pred) {
            return mean_by_example(square(hinge("squared_hinge", y_true, y_pred)));
          },
          ObjectConfig{"SquaredHinge"}) {}

CategoricalHinge::CategoricalHinge() : Loss("categorical_hinge", categorical_hinge, ObjectConfig{"CategoricalHinge"}) {}

}  // namespace lockstep
