#include <algorithm>
#include <numeric>
#include <random>

#include <kernels/cases/dtypes.h>
#include <kernels/cases/op_case.h>
#include <kernels/sorted_places.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/sorting/quantile.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/kernels/sorting/sparsemax.h>

namespace lockstep::test {
namespace {

/// The first `count` elements of the sorted axis.
Reference sorted(const Shape& shape, int axis, std::int64_t count, SortDirection direction) {
  return [=](const Values& in) {
    std::vector<double> y;
    for (const std::size_t place : sorted_places(shape, axis, count, direction, in[0])) y.push_back(in[0][place]);
    return y;
  };
}

OpCase sort_case(const Shape& shape, int axis, SortDirection direction) {
  return {.name = fmt::format("sort of {} along {}{}", shape, axis,
                              direction == SortDirection::descending ? ", descending" : ""),
          .inputs = {distinct_numbers(shape, 5)},
          .run = [=](In in) { return sort(in[0], axis, direction); },
          .reference = sorted(shape, axis, shape.dim(axis), direction),
          .takes_any_dtype = true};
}

OpCase top_k_case(const Shape& shape, std::int64_t k) {
  return {.name = fmt::format("top_k of {} of {}", k, shape),
          .inputs = {distinct_numbers(shape, 6)},
          .run = [=](In in) { return top_k(in[0], k).values; },
          .reference = sorted(shape, -1, k, SortDirection::descending),
          .check = {.samples = 60},
          .takes_no_rows = shape.rank() > 1,
          .takes_any_dtype = true};
}

/// The indices, along the axis, of the first `count` elements.
Reference sorting_indices(const Shape& shape, int axis, std::int64_t count, SortDirection direction) {
  std::int64_t inner = 1;
  for (int after = shape.normalize_axis(axis) + 1; after < shape.rank(); ++after) inner *= shape[after];
  return [=](const Values& in) {
    std::vector<double> y;
    for (const std::size_t place : sorted_places(shape, axis, count, direction, in[0]))
      y.push_back(static_cast<double>(static_cast<std::int64_t>(place) / inner % shape.dim(axis)));
    return y;
  };
}

OpCase argsort_case(DType dtype, const Shape& shape, int axis, SortDirection direction) {
  return {.name = fmt::format("argsort of {} {} along {}{}", name(dtype), shape, axis,
                              direction == SortDirection::descending ? ", descending" : ""),
          .inputs = {repeated_numbers(dtype, shape, 5)},
          .run = [=](In in) { return argsort(in[0], axis, direction); },
          .reference = sorting_indices(shape, axis, shape.dim(axis), direction),
          .gives = DType::i64};
}

OpCase top_k_indices_case(DType dtype, const Shape& shape, std::int64_t k) {
  return {.name = fmt::format("top_k of {} {}, indices of {}", name(dtype), shape, k),
          .inputs = {repeated_numbers(dtype, shape, 6)},
          .run = [=](In in) { return top_k(in[0], k).indices; },
          .reference = sorting_indices(shape, -1, k, SortDirection::descending),
          .takes_no_rows = shape.rank() > 1,
          .gives = DType::i64};
}

std::vector<OpCase> index_cases() {
  std::vector<OpCase> cases;
  for (const SortDirection direction : {SortDirection::ascending, SortDirection::descending}) {
    for (const DType dtype : all_dtypes) cases.push_back(argsort_case(dtype, {7, 30}, 1, direction));
    for (const Shape& shape : {Shape{50}, Shape{7, 300}, Shape{40, 3, 5}})
      for (int axis = 0; axis < shape.rank(); ++axis) cases.push_back(argsort_case(DType::f32, shape, axis, direction));
    cases.push_back(large(argsort_case(DType::f32, {700, 300}, 1, direction), 0));
  }
  for (const DType dtype : all_dtypes) cases.push_back(top_k_indices_case(dtype, {4, 30}, 3));
  for (const std::int64_t k : {1, 9}) cases.push_back(top_k_indices_case(DType::f32, {9}, k));
  cases.push_back(large(top_k_indices_case(DType::f32, {3, 20'000}, 40), 0));
  return cases;
}

/// Of (3, 4, 5) over axes 0 and 2, whose places are counted in that order.
OpCase quantile_case(const char* name, double q, Op run) {
  return {.name = fmt::format("{} {}", name, q),
          .inputs = {distinct_numbers({3, 4, 5}, 5)},
          .run = std::move(run),
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (std::size_t row = 0; row < 4; ++row) {
                  std::vector<double> x;
                  for (std::size_t i = 0; i < 60; ++i)
                    if (i / 5 % 4 == row) x.push_back(in[0][i]);
                  std::ranges::sort(x);
                  const double place = q * 14;
                  const auto below = static_cast<std::size_t>(place);
                  const double share = place - static_cast<double>(below);
                  y.push_back(share == 0 ? x[below] : x[below] * (1 - share) + x[below + 1] * share);
                }
                return y;
              },
          .takes_no_rows = false,
          .integers_give_f32 = true};
}

std::vector<OpCase> quantile_cases() {
  std::vector<OpCase> cases;
  for (const double q : {0.0, 0.37, 1.0})
    cases.push_back(quantile_case("quantile", q, [=](In in) { return quantile(in[0], q, {2, 0}, q == 1); }));
  cases.push_back(quantile_case("median", 0.5, [](In in) { return median(in[0], {0, -1}); }));
  cases.push_back({.name = "quantile of no columns",
                   .inputs = {random_tensor({3, 0, 5}, 5)},
                   .run =
                       [](In in) {
                         return quantile(in[0], 0.5, {0, 2});
                       },
                   .reference = [](const Values&) { return std::vector<double>(); },
                   .takes_no_rows = false,
                   .integers_give_f32 = true});
  cases.push_back({.name = "median of an even number",
                   .inputs = {distinct_numbers({3, 2}, 5)},
                   .run = [](In in) { return median(in[0], {1}); },
                   .reference =
                       [](const Values& in) {
                         const std::vector<double>& x = in[0];
                         return std::vector<double>{(x[0] + x[1]) / 2, (x[2] + x[3]) / 2, (x[4] + x[5]) / 2};
                       },
                   .integers_give_f32 = true});
  return cases;
}

/// Rows of four: the sum of the elements that exceed the shift is 1 more than their number times the shift.
OpCase sparsemax_case() {
  return {.name = "sparsemax",
          .inputs = {random_tensor({5, 4}, 1, -1, 1)},
          .run = [](In in) { return sparsemax(in[0]); },
          .reference =
              [](const Values& in) {
                std::vector<double> y = in[0];
                for (auto row = y.begin(); row != y.end(); row += 4) {
                  double low = -3;  // bisects the shift, of which the sum of the result is a falling function
                  double high = 1;
                  for (int step = 0; step < 60; ++step) {
                    const double shift = (low + high) / 2;
                    double sum = 0;
                    for (int i = 0; i < 4; ++i) sum += std::max(row[i] - shift, 0.0);
                    (sum > 1 ? low : high) = shift;
                  }
                  for (int i = 0; i < 4; ++i) row[i] = std::max(row[i] - low, 0.0);
                }
                return y;
              },
          .check = {.length = 4}};
}

}  // namespace

std::vector<OpCase> sorting_cases() {
  std::vector<OpCase> cases;
  for (const SortDirection direction : {SortDirection::ascending, SortDirection::descending})
    for (const auto& [shape, axis] : {std::pair(Shape{1}, 0), std::pair(Shape{37}, -1), std::pair(Shape{4, 6}, 0),
                                      std::pair(Shape{3, 1, 5}, 1), std::pair(Shape{2, 3, 4, 5}, -3)})
      cases.push_back(sort_case(shape, axis, direction));
  for (const auto& [shape, k] : {std::pair(Shape{1}, 1), std::pair(Shape{4, 6}, 3), std::pair(Shape{2, 3, 20}, 20)})
    cases.push_back(top_k_case(shape, k));
  for (const auto& [shape, axis] :
       {std::pair(Shape{700, 300}, 1), std::pair(Shape{3, 2000}, 1), std::pair(Shape{5, 900, 7}, 1)}) {
    cases.push_back(large(sort_case(shape, axis, SortDirection::ascending), 0));
  }
  cases.push_back(sparsemax_case());
  for (OpCase& c : quantile_cases()) cases.push_back(std::move(c));
  for (OpCase& c : index_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace lockstep::test
