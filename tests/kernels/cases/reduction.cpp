#include <algorithm>

#include <fmt/format.h>
#include <kernels/cases/op_case.h>

#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep::test {
namespace {

std::vector<double> sums(const Shape& shape, const std::vector<int>& axes, double scale, const std::vector<double>& x) {
  std::vector<bool> summed(static_cast<std::size_t>(shape.rank()));
  for (const int axis : axes) summed[static_cast<std::size_t>(shape.normalize_axis(axis))] = true;
  std::int64_t size = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) size *= summed[static_cast<std::size_t>(axis)] ? 1 : shape[axis];
  std::vector<double> y(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i, at = 0, step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto n = static_cast<std::size_t>(shape[axis]);
      if (!summed[static_cast<std::size_t>(axis)]) {
        at += rest % n * step;
        step *= n;
      }
      rest /= n;
    }
    y[at] += x[i] * scale;
  }
  return y;
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
          .reference = [=](const Values& in) { return sums(shape, axes, 1, in[0]); },
          .check = {.length = summed_elements(shape, axes)}};
}

OpCase mean_case(const Shape& shape, const std::vector<int>& axes) {
  const std::int64_t count = summed_elements(shape, axes);
  return {.name = fmt::format("mean of {} over {}", shape, fmt::join(axes, ", ")),
          .inputs = {random_tensor(shape, 5)},
          .run = [=](In in) { return mean(in[0], axes); },
          .reference = [=](const Values& in) { return sums(shape, axes, 1 / static_cast<double>(count), in[0]); },
          .check = {.length = count},
          .takes_no_rows = false};
}

}  // namespace

std::vector<OpCase> reduction_cases() {
  std::vector<OpCase> cases;
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
  return cases;
}

}  // namespace lockstep::test
