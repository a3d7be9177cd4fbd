#include "lockstep/models/layers/regularizers.h"

#include <cmath>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

Regularizer::Regularizer(double l1, double l2) : l1_(l1), l2_(l2) {
  require(std::isfinite(l1) && l1 >= 0 && std::isfinite(l2) && l2 >= 0,
          "a regularizer needs finite factors of at least 0, got l1 = {} and l2 = {}", l1, l2);
}

Tensor Regularizer::operator()(const Tensor& weight) const {
  Tensor penalty;
  if (l1_ != 0) penalty = multiply(sum(abs(weight)), l1_);
  if (l2_ == 0) return penalty;
  const Tensor squares = multiply(sum(square(weight)), l2_);
  return penalty.defined() ? add(penalty, squares) : squares;
}

}  // namespace lockstep
