#include "lockstep/models/losses/overlap.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// The axes that a loss sums over; if empty, all axes.
struct Axes {
  explicit Axes(const std::vector<std::int64_t>& axis) {
    for (const std::int64_t each : axis) {
      require(std::in_range<int>(each), "a loss has the axis {}, which no tensor has", each);
      axes.push_back(static_cast<int>(each));
    }
  }
  Tensor sum_over(const Tensor& x) const { return axes.empty() ? sum(x) : sum(x, axes); }
  bool have_examples(int rank) const {
    return axes.empty() || std::ranges::any_of(axes, [&](int axis) { return axis == 0 || axis == -rank; });
  }

  std::vector<int> axes;
};

/// 1 - overlap(y, p), by example.
template <class Overlap>
Loss::Function one_minus(const char* name, const Axes& axes, const Overlap& overlap) {
  return [=](const Tensor& y_true, const Tensor& y_pred) {
    const Tensor losses = 1.0 - overlap(targets_like(name, y_true, y_pred), y_pred);
    if (!axes.have_examples(y_pred.rank())) return mean_by_example(losses);
    return broadcast_to(mean(losses), {y_pred.dim(0)});
  };
}

Loss::Function dice(const DiceOptions& options) {
  const Axes axes(options.axis);
  return one_minus("dice", axes, [axes](const Tensor& y, const Tensor& p) {
    return axes.sum_over(y * p) * 2.0 / (axes.sum_over(y) + axes.sum_over(p) + keras_epsilon);
  });
}

Loss::Function tversky(const TverskyOptions& options) {
  const Axes axes(options.axis);
  return one_minus("tversky", axes, [options, axes](const Tensor& y, const Tensor& p) {
    const Tensor common = axes.sum_over(y * p);
    const Tensor missed = axes.sum_over(y * (1.0 - p));
    const Tensor wrong = axes.sum_over((1.0 - y) * p);
    return common / (common + missed * options.alpha + wrong * options.beta + keras_epsilon);
  });
}

void list_axis(OptionVisitor& visitor, std::vector<std::int64_t>& axis) {
  if (!axis.empty() || visitor.has_value("axis")) visitor.one_or_more("axis", axis);
}

}  // namespace

void DiceOptions::describe(OptionVisitor& visitor) { list_axis(visitor, axis); }

void TverskyOptions::describe(OptionVisitor& visitor) {
  visitor.option("alpha", alpha);
  visitor.option("beta", beta);
  list_axis(visitor, axis);
}

Dice::Dice(const DiceOptions& options) : Loss("dice", dice(options), config_of("Dice", options)) {}

Tversky::Tversky(const TverskyOptions& options) : Loss("tversky", tversky(options), config_of("Tversky", options)) {}

}  // namespace lockstep
