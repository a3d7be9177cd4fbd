#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>

#include <kernels/cases/op_case.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/elementwise.h>

namespace lockstep::test {

namespace {

bool contains(const std::vector<DType>& dtypes, DType dtype) {
  return std::ranges::find(dtypes, dtype) != dtypes.end();
}

/// `number` in `dtype`, as NumPy converts it.
double converted(double number, DType dtype) {
  if (dtype == DType::boolean) return number != 0 ? 1 : 0;
  return dtype == DType::u8 ? number - 256 * std::floor(number / 256) : number;
}

/// The first row of each op, or pair of ops, that takes integers, with these as inputs, and of each that takes all
/// dtypes, also with u8 and bool.
std::vector<OpCase> integer_cases(const std::vector<OpCase>& cases) {
  std::set<std::string> functions;
  std::vector<OpCase> result;
  for (const OpCase& c : cases) {
    const bool takes_all = c.takes_any_dtype || c.integers_give_f32;
    if (!c.has_gradient() || !(c.takes_integers || takes_all) ||
        !functions.insert(c.calls_first + " " + c.function()).second)
      continue;
    for (const DType dtype : {DType::i32, DType::i64, DType::u8, DType::boolean})
      if ((takes_all || is_integer(dtype)) && !contains(c.refuses, dtype)) result.push_back(of_dtype(c, dtype));
  }
  return result;
}

const std::vector<OpCase>& all_cases() {
  static const auto& all = *new std::vector([] {
    std::vector<OpCase> cases;
    for (const auto family : {activation_cases,
                              array_cases,
                              attention_cases,
                              comparison_cases,
                              convolution_cases,
                              creation_cases,
                              einsum_cases,
                              elementwise_cases,
                              image_cases,
                              indexing_cases,
                              linear_algebra_cases,
                              loss_cases,
                              masked_recurrence_cases,
                              matmul_cases,
                              normalization_cases,
                              pooling_cases,
                              random_cases,
                              recurrence_cases,
                              reduction_cases,
                              scan_cases,
                              shape_cases,
                              slices_cases,
                              sorting_cases})
      std::ranges::move(family(), std::back_inserter(cases));
    std::ranges::move(integer_cases(cases), std::back_inserter(cases));
    return cases;
  }());
  return all;
}

std::vector<OpCase> cases_that(bool (*matches)(const OpCase&)) {
  std::vector<OpCase> cases;
  std::ranges::copy_if(all_cases(), std::back_inserter(cases), matches);
  return cases;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const auto& cases = *new std::vector(cases_that([](const OpCase& c) { return c.has_gradient(); }));
  return cases;
}

const std::vector<OpCase>& op_cases_without_gradient() {
  static const auto& cases = *new std::vector(cases_that([](const OpCase& c) { return !c.has_gradient(); }));
  return cases;
}

const std::vector<OpCase>& small_op_cases() {
  static const auto& cases = *new std::vector(cases_that([](const OpCase& c) { return !c.is_large; }));
  return cases;
}

Tensor bias_far_from_0(std::int64_t units, std::int64_t terms) {
  const double far = 2 * std::sqrt(static_cast<double>(terms));  // six standard deviations
  std::vector<float> values;
  for (std::int64_t unit = 0; unit < units; ++unit) values.push_back(static_cast<float>(unit % 3 == 0 ? -far : far));
  return Tensor::from(values, {units});
}

std::size_t source_index(const Shape& shape, const Shape& full, std::size_t index) {
  std::size_t at = 0;
  std::size_t step = 1;
  for (int axis = full.rank() - 1; axis >= 0; --axis) {
    const std::size_t position = index % static_cast<std::size_t>(full[axis]);
    index /= static_cast<std::size_t>(full[axis]);
    const int own = axis - (full.rank() - shape.rank());
    if (own < 0) continue;
    if (shape[own] != 1) at += position * step;
    step *= static_cast<std::size_t>(shape[own]);
  }
  return at;
}

OpCase of_dtype(OpCase op, DType dtype) {
  op.name += fmt::format(" of {}", name(dtype));
  for (Tensor& input : op.inputs) {
    const Tensor whole = cast(input * 1.5, DType::i32);
    input = cast(dtype == DType::u8 ? abs(whole) : whole, dtype);
  }
  const DType gives = op.integers_give_f32 ? DType::f32 : contains(op.give_i32, dtype) ? DType::i32 : dtype;
  op.gives = gives;
  op.reference = [reference = op.reference, gives](const Values& in) {
    std::vector<double> y = reference(in);
    for (double& number : y) number = converted(number, gives);
    return y;
  };
  return op;
}

OpCase large(OpCase op, int samples) {
  op.is_large = true;
  op.check.samples = samples;
  return op;
}

void expect_same_wherever(const OpCase& op, const Tensor& actual, const Tensor& expected) {
  if (op.same_bits_on_any_threads) return expect_same_bits(actual, expected);
  ASSERT_EQ(actual.shape(), expected.shape());
  expect_close(actual, expected.to_vector<double>(), op.check.length);
}

std::string result_name(std::size_t number) {
  return number == 0 ? "the result" : fmt::format("the gradient of input {}", number - 1);
}

std::string as_test_name(std::string name) {
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

std::string test_name(const std::vector<OpCase>& cases, std::size_t number) {
  return as_test_name(cases[number].name) + "_" + std::to_string(number);
}

}  // namespace lockstep::test
