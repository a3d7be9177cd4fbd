#include <limits>

#include <kernels/cases/op_case.h>
#include <kernels/cases/window.h>

#include <lockstep/kernels/pooling/pool2d.h>

namespace lockstep::test {
namespace {

std::vector<double> plain_pool(bool of_max, const Shape& shape, const Pool2dOptions& options,
                               const std::vector<double>& x) {
  const Size2d strides = options.strides.value_or(options.window);
  const Extent rows = extent_along(shape[1], options.window.height, 1, strides.height, options.padding);
  const Extent columns = extent_along(shape[2], options.window.width, 1, strides.width, options.padding);
  std::vector<double> y;
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t i = 0; i < rows.size; ++i)
      for (std::int64_t j = 0; j < columns.size; ++j)
        for (std::int64_t k = 0; k < shape[3]; ++k) {
          double largest = -std::numeric_limits<double>::infinity();
          double sum = 0;
          int count = 0;
          for (std::int64_t di = 0; di < options.window.height; ++di)
            for (std::int64_t dj = 0; dj < options.window.width; ++dj) {
              const std::int64_t row = i * strides.height + di - rows.pad;
              const std::int64_t column = j * strides.width + dj - columns.pad;
              if (row < 0 || row >= shape[1] || column < 0 || column >= shape[2]) continue;
              const double value =
                  x[static_cast<std::size_t>(((n * shape[1] + row) * shape[2] + column) * shape[3] + k)];
              largest = std::max(largest, value);
              sum += value;
              ++count;
            }
          y.push_back(of_max ? largest : sum / count);
        }
  return y;
}

OpCase pool_case(bool of_max, const Shape& shape, const Pool2dOptions& options) {
  return {.name = fmt::format("{} of {} by {} x {}", of_max ? "max_pool2d" : "average_pool2d", shape,
                              options.window.height, options.window.width),
          // All negative, so that padding with zeros would win.
          .inputs = {random_tensor(shape, 1, -2, -1)},
          .run = [=](In in) { return of_max ? max_pool2d(in[0], options) : average_pool2d(in[0], options); },
          .reference = [=](const Values& in) { return plain_pool(of_max, shape, options, in[0]); },
          .check = {.length = options.window.height * options.window.width}};
}

}  // namespace

std::vector<OpCase> pooling_cases() {
  std::vector<OpCase> cases;
  for (const bool of_max : {true, false}) {
    cases.push_back(pool_case(of_max, {2, 6, 6, 3}, {}));
    cases.push_back(pool_case(of_max, {2, 5, 7, 17}, {.window = {3, 3}, .padding = Padding::same}));
    cases.push_back(pool_case(of_max, {1, 9, 9, 16}, {.window = {3, 3}, .strides = Size2d{2, 2}}));
    cases.push_back(pool_case(of_max, {3, 7, 7, 5}, {.window = {7, 7}, .strides = Size2d{1, 1}}));
    cases.push_back(
        pool_case(of_max, {2, 1, 1, 1}, {.window = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same}));
    cases.push_back(pool_case(of_max, {2, 8, 7, 5}, {.window = {1, 2}, .strides = Size2d{3, 4}}));
    cases.push_back(
        pool_case(of_max, {2, 7, 7, 1}, {.window = {2, 2}, .strides = Size2d{3, 3}, .padding = Padding::same}));
    cases.push_back(
        pool_case(of_max, {1, 5, 4, 8}, {.window = {3, 4}, .strides = Size2d{1, 1}, .padding = Padding::same}));
    cases.push_back(pool_case(of_max, {1, 18, 17, 2}, {.window = {17, 16}, .strides = Size2d{1, 1}}));
    cases.push_back(large(
        pool_case(of_max, {20, 15, 15, 20}, {.window = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same}), 3));
  }
  return cases;
}

}  // namespace lockstep::test
