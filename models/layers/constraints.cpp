#include "lockstep/models/layers/constraints.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/update/norm_limits.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

Constraint::Constraint(Kind kind, MinMaxNormOptions options) : kind_(kind), options_(std::move(options)) {
  const auto& [min_value, max_value, rate, axis] = options_;
  require(0 <= min_value && min_value <= max_value && 0 <= rate && rate <= 1,
          "a constraint of norms needs 0 <= min_value <= max_value and a rate in [0, 1], got {}, {} and {}", min_value,
          max_value, rate);
}

void Constraint::check(const std::string& weight, const Shape& shape) const {
  if (kind_ == Kind::none || kind_ == Kind::non_neg) return;
  try {
    axis_set(shape, options_.axis.numbers);
  } catch (Error& error) {
    error.add_context(fmt::format("the constraint of '{}', {}", weight, shape));
    throw;
  }
}

void Constraint::operator()(const Tensor& weight) const {
  if (kind_ == Kind::non_neg) return launch(kernels::Unary{functor::Maximum{0}, weight, weight});
  limit_norms(weight, options_.axis.numbers,
              {.min_value = options_.min_value, .max_value = options_.max_value, .rate = options_.rate});
}

}  // namespace lockstep
