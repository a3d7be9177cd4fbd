#include <cmath>

#include <kernels/cases/dtypes.h>
#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/comparison.h>

namespace lockstep::test {
namespace {

/// -1, 0 and 1: many of them equal.
Tensor few_numbers(const Shape& shape, unsigned seed) {
  return cast(cast(random_tensor(shape, seed, -1.9, 1.9), DType::i32), DType::f32);
}

/// The shapes of the operands of where, and the shape to which they broadcast.
struct WhereShapes {
  Shape condition, a, b;
  Shape full{3, 7};
};

OpCase where_case(const WhereShapes& shapes) {
  const Tensor condition = less(few_numbers(shapes.condition, 3), 0.5);
  return {.name = fmt::format("where {}, {}, {}", shapes.condition, shapes.a, shapes.b),
          .inputs = {random_tensor(shapes.a, 1), random_tensor(shapes.b, 2)},
          .run = [=](In in) { return where(condition, in[0], in[1]); },
          .reference =
              [=, full = shapes.full, chosen = condition.to_vector<bool>()](const Values& in) {
                std::vector<double> y(static_cast<std::size_t>(full.elements()));
                for (std::size_t i = 0; i < y.size(); ++i)
                  y[i] = chosen[source_index(shapes.condition, full, i)] ? in[0][source_index(shapes.a, full, i)]
                                                                         : in[1][source_index(shapes.b, full, i)];
                return y;
              },
          .check = {.length = shapes.full.elements()},
          .data = 2,
          .takes_no_rows = false,
          .takes_any_dtype = true,
          .nan_spreads = false};
}

OpCase number_case(bool number_first) {
  const Tensor condition = less(few_numbers({3, 37}, 5), 0.5);
  return {.name = fmt::format("where with a number, {}", number_first ? "first" : "last"),
          .inputs = {random_tensor({3, 37}, 1)},
          .run = [=](In in) { return number_first ? where(condition, 0.5, in[0]) : where(condition, in[0], 0.5); },
          .reference =
              [=, chosen = condition.to_vector<bool>()](const Values& in) {
                std::vector<double> y = in[0];
                for (std::size_t i = 0; i < y.size(); ++i)
                  if (chosen[i] == number_first) y[i] = 0.5;
                return y;
              },
          .takes_no_rows = false,
          .nan_spreads = false};
}

struct ComparisonOp {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  bool (*reference)(double, double);
  Tensor (*number_last)(const Tensor&, double);
  Tensor (*number_first)(double, const Tensor&);
};

constexpr ComparisonOp comparisons[] = {
    {"equal", equal, [](double a, double b) { return a == b; }, equal, equal},
    {"not_equal", not_equal, [](double a, double b) { return a != b; }, not_equal, not_equal},
    {"less", less, [](double a, double b) { return a < b; }, less, less},
    {"less_equal", less_equal, [](double a, double b) { return a <= b; }, less_equal, less_equal},
    {"greater", greater, [](double a, double b) { return a > b; }, greater, greater},
    {"greater_equal", greater_equal, [](double a, double b) { return a >= b; }, greater_equal, greater_equal},
    {"logical_and", logical_and, [](double a, double b) { return a != 0 && b != 0; }, logical_and, logical_and},
    {"logical_or", logical_or, [](double a, double b) { return a != 0 || b != 0; }, logical_or, logical_or},
    {"logical_xor", logical_xor, [](double a, double b) { return (a != 0) != (b != 0); }, logical_xor, logical_xor},
};

/// Of shapes that broadcast to `full`.
OpCase comparison_case(const ComparisonOp& op, DType dtype, const Shape& a, const Shape& b, const Shape& full) {
  return {.name = fmt::format("{} of {}, {} and {}", op.name, name(dtype), a, b),
          .inputs = {repeated_numbers(dtype, a, 1), repeated_numbers(dtype, b, 2)},
          .run = [=](In in) { return op.op(in[0], in[1]); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (std::size_t i = 0; i < static_cast<std::size_t>(full.elements()); ++i)
                  y.push_back(op.reference(in[0][source_index(a, full, i)], in[1][source_index(b, full, i)]));
                return y;
              },
          .data = 2,
          .takes_no_rows = a == b,
          .gives = DType::boolean};
}

OpCase comparison_with_1(const ComparisonOp& op, DType dtype, bool number_first) {
  return {.name = fmt::format("{} of {} with a number, {}", op.name, name(dtype), number_first ? "first" : "last"),
          .inputs = {repeated_numbers(dtype, {4, 33}, 1)},
          .run = [=](In in) { return number_first ? op.number_first(1, in[0]) : op.number_last(in[0], 1); },
          .reference = each([=](double x) { return number_first ? op.reference(1, x) : op.reference(x, 1); }),
          .gives = DType::boolean};
}

/// An op of each element by itself.
OpCase predicate_case(const char* op, DType dtype, Tensor (*run)(const Tensor&), bool (*reference)(double)) {
  return {.name = fmt::format("{} of {}", op, name(dtype)),
          .inputs = {repeated_numbers(dtype, {4, 33}, 1)},
          .run = [=](In in) { return run(in[0]); },
          .reference = each(reference),
          .gives = DType::boolean};
}

std::vector<OpCase> cases_of_bools() {
  std::vector<OpCase> cases;
  const Shape full{4, 33};
  for (const ComparisonOp& op : comparisons) {
    for (const DType dtype : all_dtypes) {
      cases.push_back(comparison_case(op, dtype, full, full, full));
      for (const bool number_first : {false, true}) cases.push_back(comparison_with_1(op, dtype, number_first));
    }
    for (const Shape& shape : {Shape{33}, Shape{4, 1}, Shape{}}) {
      cases.push_back(comparison_case(op, DType::f32, full, shape, full));
      cases.push_back(comparison_case(op, DType::i64, shape, full, full));
    }
    cases.push_back(comparison_case(op, DType::f32, {4, 0}, {4, 1}, {4, 0}));
  }
  cases.push_back(large(comparison_case(comparisons[2], DType::f32, {300, 1000}, {300, 1000}, {300, 1000}), 0));
  for (const DType dtype : all_dtypes) {
    cases.push_back(predicate_case("logical_not", dtype, logical_not, [](double x) { return x == 0; }));
    cases.push_back(predicate_case("isnan", dtype, isnan, [](double x) { return std::isnan(x); }));
    cases.push_back(predicate_case("isinf", dtype, isinf, [](double x) { return std::isinf(x); }));
    cases.push_back(predicate_case("isfinite", dtype, isfinite, [](double x) { return std::isfinite(x); }));
  }
  return cases;
}

bool near(double a, double b) { return std::isfinite(b) ? std::abs(a - b) <= 0.25 + 0.5 * std::abs(b) : a == b; }

OpCase isclose_case(DType dtype, const Shape& b) {
  const Shape full{4, 33};
  return {.name = fmt::format("isclose of {} and {}", name(dtype), b),
          .inputs = {repeated_numbers(dtype, full, 1), repeated_numbers(dtype, b, 2)},
          .run = [](In in) { return isclose(in[0], in[1], 0.5, 0.25); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (std::size_t i = 0; i < in[0].size(); ++i)
                  y.push_back(near(in[0][i], in[1][source_index(b, full, i)]));
                return y;
              },
          .data = 2,
          .takes_no_rows = b == full,
          .gives = DType::boolean};
}

/// Of random numbers, all of which are close if `atol` is 2.
OpCase allclose_case(DType dtype, const Shape& shape, double atol) {
  return {.name = fmt::format("allclose of {} {} up to {}", name(dtype), shape, atol),
          .inputs = {cast(random_tensor(shape, 1), dtype), cast(random_tensor(shape, 2), dtype)},
          .run = [=](In in) { return allclose(in[0], in[1], 0, atol); },
          .reference = [=](const Values& in) { return std::vector<double>{atol >= 2 || in[0].empty() ? 1.0 : 0.0}; },
          .data = 2,
          .takes_no_rows = false,
          .gives = DType::boolean};
}

OpCase count_nonzero_case(DType dtype) {
  return {.name = fmt::format("count_nonzero of {}", name(dtype)),
          .inputs = {repeated_numbers(dtype, {4, 33}, 1)},
          .run = [](In in) { return count_nonzero(in[0], {1}); },
          .reference =
              [](const Values& in) {
                std::vector<double> y(4, 0);
                for (std::size_t i = 0; i < in[0].size(); ++i) y[i / 33] += in[0][i] != 0;
                return y;
              },
          .gives = DType::i32};
}

/// The indices along `axis`, 0 or 1, of the elements that are not 0.
OpCase indices_case(DType dtype, int axis) {
  return {.name = fmt::format("where of {}, axis {}", name(dtype), axis),
          .inputs = {repeated_numbers(dtype, {5, 7}, 1)},
          .run = [=](In in) { return where(in[0])[static_cast<std::size_t>(axis)]; },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (std::size_t i = 0; i < in[0].size(); ++i)
                  if (in[0][i] != 0) y.push_back(static_cast<double>(axis == 0 ? i / 7 : i % 7));
                return y;
              },
          .gives = DType::i64};
}

}  // namespace

std::vector<OpCase> comparison_cases() {
  std::vector<OpCase> cases{where_case({{3, 7}, {3, 7}, {3, 7}}), where_case({{3, 1}, {1, 7}, {}}),
                            where_case({{7}, {3, 1}, {3, 7}}), where_case({{3, 7}, {7}, {1}}),
                            where_case({{4, 1}, {4, 0}, {}, {4, 0}})};
  for (const bool number_first : {false, true}) cases.push_back(number_case(number_first));
  for (const DType dtype : all_dtypes)
    for (const int axis : {0, 1}) cases.push_back(indices_case(dtype, axis));
  for (OpCase& c : cases_of_bools()) cases.push_back(std::move(c));
  for (const DType dtype : all_dtypes)
    for (const Shape& b : {Shape{4, 33}, Shape{4, 1}}) cases.push_back(isclose_case(dtype, b));
  for (const DType dtype : all_dtypes) cases.push_back(allclose_case(dtype, {4, 33}, 2));
  for (const DType dtype : {DType::f32, DType::bf16}) cases.push_back(allclose_case(dtype, {4, 33}, 1));
  cases.push_back(allclose_case(DType::f32, {0, 33}, 1));
  for (const DType dtype : all_dtypes) cases.push_back(count_nonzero_case(dtype));
  return cases;
}

}  // namespace lockstep::test
