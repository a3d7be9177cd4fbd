#include <cmath>

#include <kernels/cases/dtypes.h>
#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/triangle.h>

namespace lockstep::test {
namespace {

/// A row of an op without inputs.
OpCase creation_case(const std::string& op, DType dtype, std::function<Tensor()> create, std::vector<double> expected) {
  return {.name = fmt::format("{} in {}", op, name(dtype)),
          .inputs = {},
          .run = [create = std::move(create)](In) { return create(); },
          .reference = [expected = std::move(expected)](const Values&) { return expected; },
          .data = 0,
          .gives = dtype};
}

/// The numbers as `dtype` holds them: integers are truncated.
std::vector<double> held(DType dtype, std::vector<double> numbers) {
  if (is_real(dtype)) return numbers;
  for (double& number : numbers) number = dtype != DType::boolean ? std::trunc(number) : number != 0 ? 1 : 0;
  return numbers;
}

OpCase eye_case(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t k) {
  std::vector<double> expected;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) expected.push_back(column - row == k ? 1 : 0);
  return creation_case(
      fmt::format("eye of ({}, {}) on {}", rows, columns, k), dtype, [=] { return eye(rows, columns, k, dtype); },
      expected);
}

OpCase arange_case(DType dtype, double start, std::int64_t count, double step) {
  std::vector<double> expected;
  for (std::int64_t i = 0; i < count; ++i) expected.push_back(start + static_cast<double>(i) * step);
  const double stop = start + (static_cast<double>(count) - 0.5) * step;
  return creation_case(
      fmt::format("arange of {} from {} by {}", count, start, step), dtype,
      [=] { return arange(start, count == 0 ? start : stop, step, dtype); }, held(dtype, expected));
}

OpCase linspace_case(DType dtype, std::int64_t count, bool endpoint) {
  std::vector<double> expected;
  const auto steps = static_cast<double>(endpoint ? count - 1 : count);
  for (std::int64_t i = 0; i < count; ++i) expected.push_back(1.75 - 1.5 * static_cast<double>(i) / steps);
  return creation_case(
      fmt::format("linspace of {}{}", count, endpoint ? "" : ", without the end"), dtype,
      [=] { return linspace(1.75, 0.25, count, endpoint, dtype); }, held(dtype, expected));
}

/// Of full_like and its short forms.
OpCase like_case(const char* op, DType dtype, double value, Tensor (*run)(const Tensor&)) {
  return {.name = fmt::format("{} of {}", op, name(dtype)),
          .inputs = {repeated_numbers(dtype, {2, 3, 5}, 1)},
          .run = [=](In in) { return run(in[0]); },
          .reference = each([=](double) { return value; }),
          .is_view = true,
          .gives = dtype};
}

}  // namespace

std::vector<OpCase> creation_cases() {
  std::vector<OpCase> cases;
  for (const DType dtype : all_dtypes) {
    cases.push_back(eye_case(dtype, 4, 6, 1));
    cases.push_back(arange_case(dtype, 0, 3, 0.5));
    cases.push_back(linspace_case(dtype, 7, true));
    cases.push_back(like_case("full_like", dtype, 1, [](const Tensor& x) { return full_like(x, 1); }));
    cases.push_back(like_case("zeros_like", dtype, 0, zeros_like));
    cases.push_back(like_case("ones_like", dtype, 1, ones_like));
  }
  for (const DType dtype : {DType::f32, DType::i64}) {
    cases.push_back(arange_case(dtype, 40, 60, -1.5));
    cases.push_back(arange_case(dtype, 1, 0, 1));
    cases.push_back(linspace_case(dtype, 40, false));
    cases.push_back(linspace_case(dtype, 0, true));
    cases.push_back(eye_case(dtype, 5, 3, -2));
    cases.push_back(eye_case(dtype, 0, 3, 0));
  }
  cases.push_back(large(arange_case(DType::f32, -3, 100'003, 0.5), 0));
  return cases;
}

}  // namespace lockstep::test
