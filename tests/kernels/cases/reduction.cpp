#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <kernels/cases/dtypes.h>
#include <kernels/cases/groups.h>
#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>

namespace lockstep::test {
namespace {

double mean_of(Elements x) { return sum_of(x) / static_cast<double>(x.size()); }
double product_of(Elements x) { return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies()); }
double variance_of(Elements x) {
  double sum = 0;
  for (const double value : x) sum += (value - mean_of(x)) * (value - mean_of(x));
  return sum / static_cast<double>(x.size());
}
double log_of_exponentials(Elements x) {
  double sum = 0;
  for (const double value : x) sum += std::exp(value);
  return std::log(sum);
}

std::int64_t summed_elements(const Shape& shape, const std::vector<int>& axes) {
  std::int64_t count = 1;
  for (const int axis : axes) count *= shape.dim(axis);
  return count;
}

OpCase sum_case(const Shape& shape, const std::vector<int>& axes, bool keepdims = false) {
  return {.name = fmt::format("sum of {} over {}{}", shape, fmt::join(axes, ", "), keepdims ? ", keepdims" : ""),
          .inputs = {random_tensor(shape, 5)},
          .run = [=](In in) { return sum(in[0], axes, keepdims); },
          .reference = of_groups(shape, axes, sum_of),
          .check = {.length = summed_elements(shape, axes)},
          .takes_any_dtype = true,
          .give_i32 = {DType::u8, DType::boolean}};
}

OpCase mean_case(const Shape& shape, const std::vector<int>& axes) {
  return {.name = fmt::format("mean of {} over {}", shape, fmt::join(axes, ", ")),
          .inputs = {random_tensor(shape, 5)},
          .run = [=](In in) { return mean(in[0], axes); },
          .reference = of_groups(shape, axes, mean_of),
          .check = {.length = summed_elements(shape, axes)},
          .takes_no_rows = false,
          .integers_give_f32 = true};
}

struct ReductionOp {
  const char* name;
  Tensor (*op)(const Tensor&, const std::vector<int>&, bool);
  double (*reference)(Elements);
  double low, high;
  bool takes_integers = false;       ///< and u8 and bool; else it gives f32 for them
  std::vector<DType> give_i32 = {};  ///< OpCase::give_i32
};

const ReductionOp reductions[] = {
    {"prod", prod, product_of, 0.7, 1.4, true, {DType::u8, DType::boolean}},
    {"max", max, largest_of, -1, 1, true},
    {"min", min, smallest_of, -1, 1, true},
    {"var", var, variance_of, -1, 1},
    {"std",
     [](const Tensor& x, const std::vector<int>& axes, bool keepdims) { return lockstep::std(x, axes, keepdims); },
     [](Elements x) { return std::sqrt(variance_of(x)); }, -1, 1},
    {"norm", norm, [](Elements x) { return std::sqrt(squares_of(x)); }, -1, 1},
    {"logsumexp", logsumexp, log_of_exponentials, -3, 3},
};

OpCase reduction_case(const ReductionOp& op, const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  const bool keeps_rows = std::ranges::none_of(axes, [&](int axis) { return shape.normalize_axis(axis) == 0; });
  return {
      .name = fmt::format("{} of {} over {}{}", op.name, shape, fmt::join(axes, ", "), keepdims ? ", keepdims" : ""),
      .inputs = {random_tensor(shape, 5, op.low, op.high)},
      .run = [=](In in) { return op.op(in[0], axes, keepdims); },
      .reference = of_groups(shape, axes, op.reference),
      .check = {.length = summed_elements(shape, axes)},
      .takes_no_rows = keeps_rows,
      .takes_any_dtype = op.takes_integers,
      .integers_give_f32 = !op.takes_integers,
      .give_i32 = op.give_i32};
}

/// Of (rows, 4, 5), with weights of each element or along axis 1.
OpCase average_case(bool of_elements, std::int64_t rows = 3) {
  const Shape shape{rows, 4, 5};
  const std::optional<int> axis = of_elements ? std::optional<int>() : -2;
  return {
      .name = fmt::format("average of {} with weights {}", shape, of_elements ? "of each element" : "along an axis"),
      .inputs = {random_tensor(shape, 1), random_tensor(of_elements ? shape : Shape{4}, 2, 0.5, 1.5)},
      .run = [=](In in) { return average(in[0], axis, in[1]); },
      .reference =
          [=](const Values& in) {
            std::vector<double> sums(of_elements ? 1 : in[0].size() / 4), weights(sums.size());
            for (std::size_t i = 0; i < in[0].size(); ++i) {
              const std::size_t at = of_elements ? 0 : i / 20 * 5 + i % 5;
              const double weight = in[1][of_elements ? i : i / 5 % 4];
              sums[at] += in[0][i] * weight;
              weights[at] += weight;
            }
            for (std::size_t at = 0; at < sums.size(); ++at) sums[at] /= weights[at];
            return sums;
          },
      .check = {.length = 60},
      .data = 2,
      .takes_no_rows = false,
      .integers_give_f32 = true};
}

/// Rows of four with no, one and two zeros: the product's gradient at a 0 is the product of the others.
OpCase product_with_zeros() {
  std::vector<float> x = random_tensor({3, 4}, 5, 0.5, 1.5).to_vector<float>();
  for (const std::size_t at : {5U, 8U, 11U}) x[at] = 0;
  return {.name = "prod with zeros",
          .inputs = {Tensor::from(x, {3, 4})},
          .run = [=](In in) { return prod(in[0], {1}); },
          .reference = of_groups({3, 4}, {1}, product_of),
          .takes_any_dtype = true,
          .give_i32 = {DType::u8, DType::boolean}};
}

OpCase sum_of_bools(const std::vector<int>& axes) {
  const Shape shape{3, 4, 5};
  return {.name = fmt::format("sum of bools over {}", fmt::join(axes, ", ")),
          .inputs = {repeated_numbers(DType::boolean, shape, 5)},
          .run = [=](In in) { return sum(in[0], axes); },
          .reference = of_groups(shape, axes, sum_of),
          .takes_no_rows = axes[0] != 0,
          .gives = DType::i32};
}

OpCase mean_of_other_numbers(DType dtype, const std::vector<int>& axes) {
  const Shape shape{3, 4, 5};
  return {.name = fmt::format("mean of {} over {}", name(dtype), fmt::join(axes, ", ")),
          .inputs = {repeated_numbers(dtype, shape, 5)},
          .run = [=](In in) { return mean(in[0], axes); },
          .reference = of_groups(shape, axes, mean_of),
          .takes_no_rows = axes[0] != 0,
          .gives = DType::f32};
}

/// Numbers of which two thirds are 0 for any, none for all. Of the others of f32 and bf16, many are fractions or NaN.
Tensor truth_values(DType dtype, const Shape& shape, bool of_any) {
  std::vector<float> x = random_tensor(shape, 5, -2, 4).to_vector<float>();
  for (float& value : x) {
    const bool zero = (value > 0) == of_any;
    value = zero ? 0 : !is_real(dtype) ? 1 : std::abs(value) > 1 ? std::nanf("") : 0.5F;
  }
  return cast(Tensor::from(x, shape), dtype);
}

OpCase truth_case(bool of_any, DType dtype, const Shape& shape, const std::vector<int>& axes) {
  const bool keepdims = axes.size() == 2;
  return {.name = fmt::format("{} of {} {} over {}", of_any ? "any" : "all", name(dtype), shape, fmt::join(axes, ", ")),
          .inputs = {truth_values(dtype, shape, of_any)},
          .run = [=](In in) { return of_any ? any(in[0], axes, keepdims) : all(in[0], axes, keepdims); },
          .reference = of_groups(shape, axes,
                                 [=](Elements x) {
                                   const auto is_true = [](double value) { return value != 0; };
                                   return of_any ? std::ranges::any_of(x, is_true) : std::ranges::all_of(x, is_true);
                                 }),
          .takes_no_rows = axes[0] != 0,
          .gives = DType::boolean};
}

/// argmax or argmin.
OpCase index_case(bool of_max, DType dtype, const Shape& shape, std::optional<int> axis, bool keepdims = false) {
  std::vector<int> axes(axis ? 1 : static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), axis.value_or(0));
  return {.name = fmt::format("{} of {} {} along {}{}", of_max ? "argmax" : "argmin", name(dtype), shape,
                              fmt::join(axes, ", "), keepdims ? ", keepdims" : ""),
          .inputs = {repeated_numbers(dtype, shape, 5)},
          .run = [=](In in) { return of_max ? argmax(in[0], axis, keepdims) : argmin(in[0], axis, keepdims); },
          .reference = of_groups(shape, axes,
                                 [=](Elements x) {
                                   std::size_t best = 0;
                                   for (std::size_t i = 1; i < x.size() && !std::isnan(x[best]); ++i)
                                     if (std::isnan(x[i]) || (of_max ? x[i] > x[best] : x[i] < x[best])) best = i;
                                   return static_cast<double>(best);
                                 }),
          .takes_no_rows = axis && shape.normalize_axis(*axis) != 0,
          .gives = DType::i64};
}

std::vector<OpCase> cases_without_gradient() {
  std::vector<OpCase> cases{sum_of_bools({1}), sum_of_bools({0, -1})};
  for (const DType dtype : {DType::boolean, DType::u8, DType::i32, DType::i64})
    cases.push_back(mean_of_other_numbers(dtype, {1}));
  for (const bool first : {false, true}) {
    for (const DType dtype : all_dtypes) {
      cases.push_back(truth_case(first, dtype, {3, 4, 5}, {1}));
      cases.push_back(index_case(first, dtype, {3, 4, 5}, -1));
    }
    cases.push_back(truth_case(first, DType::f32, {3, 4, 5}, {0, 1}));
    cases.push_back(truth_case(first, DType::bf16, {37}, {0}));
    cases.push_back(large(truth_case(first, DType::f32, {100, 3, 1000}, {1}), 0));
    for (const int axis : {0, 1, -1}) cases.push_back(index_case(first, DType::f32, {4, 5, 7}, axis, axis == 1));
    cases.push_back(index_case(first, DType::i64, {4, 5, 7}, 0));
    for (const DType dtype : {DType::f32, DType::i64}) cases.push_back(index_case(first, dtype, {4, 5, 7}, {}));
    cases.push_back(index_case(first, DType::f32, {4, 5}, {}, true));
    cases.push_back(large(index_case(first, DType::f32, {300, 1000}, 1), 0));
  }
  return cases;
}

}  // namespace

std::vector<OpCase> reduction_cases() {
  std::vector<OpCase> cases{product_with_zeros(), average_case(true), average_case(false), average_case(false, 0)};
  for (const ReductionOp& op : reductions) {
    cases.push_back(reduction_case(op, {37}, {0}, false));
    for (const std::vector<int>& axes : {std::vector{1}, {0, -1}, {0, 1, 2, 3}, {-2, 1}})
      cases.push_back(reduction_case(op, {2, 3, 4, 5}, axes, axes.size() == 2));
    cases.push_back(large(reduction_case(op, {2, 700, 40}, {1}, false), 2));
  }
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{37}, Shape{4, 6}, Shape{3, 1, 5}, Shape{2, 3, 4, 5}})
    for (int mask = 0; mask < 1 << shape.rank(); ++mask) {
      std::vector<int> axes;
      for (int axis = 0; axis < shape.rank(); ++axis)
        if ((mask >> axis & 1) != 0) axes.push_back(axis % 2 == 0 ? axis : axis - shape.rank());
      cases.push_back(sum_case(shape, axes, mask % 2 == 0));
      if (shape.rank() > 1) cases.push_back(mean_case(shape, axes));
    }
  for (const Shape& shape :
       {Shape{1, 500'000, 1}, Shape{1, 40'000, 10}, Shape{3, 9'000, 33}, Shape{2, 50, 3000}, Shape{1000, 300, 1}}) {
    cases.push_back(large(sum_case(shape, {1}), 2));
  }
  for (OpCase& c : cases_without_gradient()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace lockstep::test
