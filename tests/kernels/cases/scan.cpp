#include <algorithm>
#include <string>
#include <utility>

#include <kernels/cases/op_case.h>

#include <lockstep/kernels/scan/scan.h>

namespace lockstep::test {
namespace {

std::vector<double> running_sums(const Shape& shape, int axis, const CumsumOptions& options,
                                 const std::vector<double>& x) {
  std::int64_t inner = 1;
  for (int after = shape.normalize_axis(axis) + 1; after < shape.rank(); ++after) inner *= shape[after];
  const std::int64_t n = shape.dim(axis);
  std::vector<double> y(x.size());
  for (std::int64_t line = 0; line < shape.elements() / std::max<std::int64_t>(n, 1); ++line) {
    const std::int64_t first = line / inner * n * inner + line % inner;
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(first + (options.reverse ? n - 1 - i : i) * inner);
      y[at] = options.exclusive ? sum : sum + x[at];
      sum += x[at];
    }
  }
  return y;
}

std::vector<double> running_products(const Shape& shape, int axis, const std::vector<double>& x) {
  std::int64_t inner = 1;
  for (int after = shape.normalize_axis(axis) + 1; after < shape.rank(); ++after) inner *= shape[after];
  std::vector<double> y = x;
  for (std::size_t at = 0; at < y.size(); ++at)
    if (static_cast<std::int64_t>(at) / inner % shape.dim(axis) > 0) y[at] *= y[at - static_cast<std::size_t>(inner)];
  return y;
}

/// Of numbers near 1, with zeros at these places.
OpCase cumprod_case(const Shape& shape, int axis, const std::vector<std::size_t>& zeros = {}) {
  std::vector<float> x = random_tensor(shape, 5, 0.7, 1.4).to_vector<float>();
  for (const std::size_t at : zeros) x.at(at) = 0;
  return {.name = fmt::format("cumprod of {} along {}, {} zeros", shape, axis, zeros.size()),
          .inputs = {Tensor::from(x, shape)},
          .run = [=](In in) { return cumprod(in[0], axis); },
          .reference = [=](const Values& in) { return running_products(shape, axis, in[0]); },
          .check = {.length = shape.dim(axis)},
          .takes_any_dtype = true,
          .give_i32 = {DType::boolean}};
}

/// Along axis 1 of (2, 5, 3).
OpCase diff_case(int n) {
  return {.name = fmt::format("diff taken {} times", n),
          .inputs = {random_tensor({2, 5, 3}, 5)},
          .run = [=](In in) { return diff(in[0], n, -2); },
          .reference =
              [=](const Values& in) {
                std::vector<double> x = in[0];
                for (std::size_t steps = 5; steps > 5 - static_cast<std::size_t>(n); --steps) {
                  std::vector<double> y;
                  for (std::size_t i = 0; i < x.size(); ++i)
                    if (i / 3 % steps < steps - 1) y.push_back(x[i + 3] - x[i]);
                  x = y;
                }
                return x;
              },
          .check = {.length = 4},
          .calls_first = "diff",
          .takes_any_dtype = true};
}

OpCase cumsum_case(const Shape& shape, int axis, const CumsumOptions& options) {
  return {.name = fmt::format("cumsum of {} along {}{}{}", shape, axis, options.exclusive ? ", exclusive" : "",
                              options.reverse ? ", reverse" : ""),
          .inputs = {random_tensor(shape, 5)},
          .run = [=](In in) { return cumsum(in[0], axis, options); },
          .reference = [=](const Values& in) { return running_sums(shape, axis, options, in[0]); },
          .check = {.length = shape.dim(axis)},
          .takes_any_dtype = true,
          .give_i32 = {DType::boolean},
          .nan_spreads = !options.exclusive};
}

/// The row without an axis: its inputs in one row.
OpCase without_axis(OpCase row, const std::string& name, Op run) {
  row.name = name;
  row.run = std::move(run);
  row.inputs = {row.inputs[0].view({3, 7})};
  return row;
}

}  // namespace

std::vector<OpCase> scan_cases() {
  std::vector<OpCase> cases{cumprod_case({1}, 0), cumprod_case({37}, -1), cumprod_case({4, 6}, 0),
                            cumprod_case({2, 3, 4, 5}, -3)};
  cases.push_back(
      without_axis(cumprod_case({21}, 0, {4}), "cumprod of all elements", [](In in) { return cumprod(in[0]); }));
  cases.push_back(without_axis(cumsum_case({21}, 0, {.exclusive = true}), "cumsum of all elements, exclusive",
                               [](In in) { return cumsum(in[0], {}, {.exclusive = true}); }));
  cases.push_back(cumprod_case({3, 2, 5}, 1, {1}));
  cases.push_back(cumprod_case({4, 3}, -1, {4, 6, 8, 9, 10, 11}));  // rows with no, one, two and three zeros
  cases.push_back(large(cumprod_case({3, 2000}, 1, {1500}), 2));    // several rounds of a wide team
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) {
      const CumsumOptions options{.exclusive = exclusive, .reverse = reverse};
      for (const auto& [shape, axis] : {std::pair(Shape{2}, 0), std::pair(Shape{37}, -1), std::pair(Shape{4, 6}, 0),
                                        std::pair(Shape{3, 2, 5}, 1), std::pair(Shape{2, 3, 4, 5}, -3)})
        cases.push_back(cumsum_case(shape, axis, options));
      // Scans split into pieces for several threads or blocks; few long lines, and many lines.
      for (const Shape& shape : {Shape{3, 700, 1}, Shape{1, 50'000, 1}, Shape{2, 900, 70}, Shape{1, 40, 3000}}) {
        cases.push_back(large(cumsum_case(shape, 1, options), 2));
      }
    }
  for (const int n : {1, 2, 5}) cases.push_back(diff_case(n));
  return cases;
}

}  // namespace lockstep::test
