#include <cmath>

#include <kernels/cases/op_case.h>
#include <kernels/cases/unary_ops.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>

namespace lockstep::test {
namespace {

OpCase with_integers(OpCase op, Integers integers) {
  op.takes_integers = integers == Integers::kept;
  op.integers_give_f32 = integers == Integers::give_f32;
  op.takes_any_dtype = integers != Integers::refused && !op.takes_integers && !op.integers_give_f32;
  if (integers == Integers::kept_but_bool) op.refuses = {DType::boolean};
  if (integers == Integers::bool_gives_i32) op.give_i32 = {DType::boolean};
  return op;
}

OpCase unary_case(const char* name, Tensor (*op)(const Tensor&), double (*reference)(double), double low, double high,
                  Integers integers = Integers::refused) {
  return with_integers({.name = name,
                        .inputs = {random_tensor({3, 37}, 1, low, high)},
                        .run = [=](In in) { return op(in[0]); },
                        .reference = each(reference)},
                       integers);
}

/// Those without numbers as operands are in unary_ops.cpp.
std::vector<OpCase> unary_cases() {
  std::vector<OpCase> cases{
      unary_case(
          "round", [](const Tensor& x) { return round(x); }, [](double x) { return std::rint(x); }, -3, 3,
          Integers::kept_as_all),
      unary_case(
          "round to one decimal", [](const Tensor& x) { return round(x, 1); },
          [](double x) { return std::rint(x * 10) / 10; }, -3, 3, Integers::kept_as_all),
      unary_case(
          "round to hundreds", [](const Tensor& x) { return round(x, -2); },
          [](double x) { return std::rint(x / 100) * 100; }, -300, 300),
      unary_case(
          "clip", [](const Tensor& x) { return clip(x, -0.7, 0.9); }, [](double x) { return std::clamp(x, -0.7, 0.9); },
          -2, 2),
      unary_case(
          "clip to 0 and 1", [](const Tensor& x) { return clip(x, 0, 1); },
          [](double x) { return std::clamp(x, 0.0, 1.0); }, -2, 2, Integers::bool_gives_i32),
      unary_case(
          "power of 3", [](const Tensor& x) { return power(x, 3); }, [](double x) { return x * x * x; }, -2, 2,
          Integers::bool_gives_i32),
      unary_case(
          "power of 0.5", [](const Tensor& x) { return power(x, 0.5); }, [](double x) { return std::sqrt(x); }, 0.3, 4),
      unary_case(
          "power of -1.5", [](const Tensor& x) { return power(x, -1.5); }, [](double x) { return std::pow(x, -1.5); },
          0.5, 3),
      unary_case(
          "power of a number", [](const Tensor& x) { return power(1.5, x); }, [](double x) { return std::pow(1.5, x); },
          -2, 2),
      unary_case(
          "floor_divide by a number", [](const Tensor& x) { return floor_divide(x, 0.75); },
          [](double x) { return std::floor(x / 0.75); }, -3, 3),
      unary_case(
          "floor_divide of a number", [](const Tensor& x) { return floor_divide(2.5, x); },
          [](double x) { return std::floor(2.5 / x); }, 0.5, 3),
      unary_case(
          "mod by a number", [](const Tensor& x) { return mod(x, -0.75); },
          [](double x) { return x + 0.75 * std::floor(x / -0.75); }, -3, 3),
      unary_case(
          "mod of a number", [](const Tensor& x) { return mod(-2.5, x); },
          [](double x) { return -2.5 - x * std::floor(-2.5 / x); }, 0.5, 3),
      unary_case(
          "squared_difference from a number", [](const Tensor& x) { return squared_difference(x, 2.5); },
          [](double x) { return (x - 2.5) * (x - 2.5); }, -2, 2),
      unary_case(
          "squared_difference to a number", [](const Tensor& x) { return squared_difference(1, x); },
          [](double x) { return (x - 1) * (x - 1); }, -2, 2, Integers::kept_but_bool),
      unary_case(
          "arctan2 over a number", [](const Tensor& x) { return arctan2(x, -1.5); },
          [](double x) { return std::atan2(x, -1.5); }, 0.3, 2, Integers::give_f32),
      unary_case(
          "arctan2 of a number", [](const Tensor& x) { return arctan2(-1.5, x); },
          [](double x) { return std::atan2(-1.5, x); }, -2, 2, Integers::give_f32),
      unary_case(
          "logaddexp of a number, last", [](const Tensor& x) { return logaddexp(x, 0.5); },
          [](double x) { return std::log(std::exp(x) + std::exp(0.5)); }, -2, 2, Integers::give_f32),
      unary_case(
          "logaddexp of a number, first", [](const Tensor& x) { return logaddexp(0.5, x); },
          [](double x) { return std::log(std::exp(x) + std::exp(0.5)); }, -2, 2, Integers::give_f32),
      unary_case(
          "subtract from a number", [](const Tensor& x) { return 2.5 - x; }, [](double x) { return 2.5 - x; }, -2, 2),
      unary_case(
          "divide a number", [](const Tensor& x) { return 1.5 / x; }, [](double x) { return 1.5 / x; }, 0.7, 3,
          Integers::give_f32),
      unary_case(
          "maximum", [](const Tensor& x) { return maximum(x, 0.3); }, [](double x) { return std::max(x, 0.3); }, -2, 2),
      unary_case(
          "minimum", [](const Tensor& x) { return minimum(0.3, x); }, [](double x) { return std::min(x, 0.3); }, -2, 2),
      unary_case(
          "add of numbers", [](const Tensor& x) { return 3.0 + x + 0.5; }, [](double x) { return x + 3.5; }, -2, 2),
      unary_case(
          "subtract a number", [](const Tensor& x) { return x - 0.5; }, [](double x) { return x - 0.5; }, -2, 2),
      unary_case(
          "multiply by numbers", [](const Tensor& x) { return 3.0 * x * 0.25; }, [](double x) { return x * 0.75; }, -2,
          2),
      unary_case(
          "divide by a number", [](const Tensor& x) { return x / 4.0; }, [](double x) { return x / 4; }, -2, 2,
          Integers::give_f32),
  };
  for (const UnaryOp& each : unary_ops())
    cases.push_back(unary_case(each.name, each.op, each.reference, each.low, each.high, each.integers));
  return cases;
}

struct BinaryOp {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*reference)(double, double);
  double low = -1, high = 1;  ///< of the first operand
  Integers integers = Integers::kept_as_all;
};

constexpr BinaryOp add_op{"add", add, [](double a, double b) { return a + b; }};
constexpr BinaryOp subtract_op{"subtract", subtract, [](double a, double b) { return a - b; },
                               -1,         1,        Integers::kept_but_bool};
constexpr BinaryOp multiply_op{"multiply", multiply, [](double a, double b) { return a * b; }};
constexpr BinaryOp divide_op{"divide", divide, [](double a, double b) { return a / b; }, -1, 1, Integers::give_f32};

constexpr BinaryOp maximum_op{"maximum", maximum, [](double a, double b) { return std::max(a, b); }};
constexpr BinaryOp minimum_op{"minimum", minimum, [](double a, double b) { return std::min(a, b); }};
constexpr BinaryOp power_op{"power", power, [](double a, double b) { return std::pow(a, b); },
                            0.3,     2,     Integers::bool_gives_i32};
constexpr BinaryOp squared_difference_op{
    "squared_difference",   squared_difference, [](double a, double b) { return (a - b) * (a - b); }, -1, 1,
    Integers::kept_but_bool};

/// 0 where b is 0, which only the integers of tests are.
double floor_of_quotient(double a, double b) { return b == 0 ? 0 : std::floor(a / b); }
constexpr BinaryOp floor_divide_op{"floor_divide", floor_divide, floor_of_quotient, -4, 4, Integers::bool_gives_i32};
constexpr BinaryOp mod_op{"mod", mod, [](double a, double b) { return b == 0 ? 0 : a - b * floor_of_quotient(a, b); },
                          -4,    4,   Integers::bool_gives_i32};

constexpr BinaryOp arctan2_op{"arctan2", arctan2, [](double a, double b) { return std::atan2(a, b); },
                              -1,        1,       Integers::give_f32};
constexpr BinaryOp logaddexp_op{
    "logaddexp", logaddexp, [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); },
    -1,          1,         Integers::give_f32};

OpCase binary_case(const BinaryOp& op, const Shape& a, const Shape& b, const Shape& y) {
  const bool integers_give_f32 = op.integers == Integers::give_f32;  // then b has no zeros as integers
  return with_integers(
      {.name = fmt::format("{} of {} and {}", op.name, a, b),
       .inputs = {random_tensor(a, 1, op.low, op.high), random_tensor(b, 2, integers_give_f32 ? 0.7 : 0.5, 1.5)},
       .run = [=](In in) { return op.op(in[0], in[1]); },
       .reference =
           [=](const Values& in) {
             std::vector<double> out(static_cast<std::size_t>(y.elements()));
             for (std::size_t i = 0; i < out.size(); ++i)
               out[i] = op.reference(in[0][source_index(a, y, i)], in[1][source_index(b, y, i)]);
             return out;
           },
       .check = {.length = std::max<std::int64_t>(1, y.elements())},
       .data = 2,
       .takes_no_rows = a == b && a.rank() > 0},
      op.integers);
}

std::vector<OpCase> binary_cases() {
  std::vector<OpCase> cases;
  for (const BinaryOp& op : {add_op, subtract_op, multiply_op, divide_op, maximum_op, minimum_op, power_op,
                             squared_difference_op, floor_divide_op, mod_op, arctan2_op, logaddexp_op})
    for (const Shape& b : {Shape{4, 33}, Shape{33}, Shape{4, 1}, Shape{}})
      cases.push_back(binary_case(op, {4, 33}, b, {4, 33}));
  for (const BinaryOp& op : {subtract_op, divide_op, maximum_op, power_op, squared_difference_op, mod_op}) {
    cases.push_back(binary_case(op, {}, {}, {}));
    cases.push_back(binary_case(op, {1}, {3, 5}, {3, 5}));
    cases.push_back(binary_case(op, {2, 3, 5}, {2, 1, 5}, {2, 3, 5}));
    cases.push_back(binary_case(op, {2, 3, 1}, {1, 3, 7}, {2, 3, 7}));
    cases.push_back(binary_case(op, {5, 1}, {1, 6}, {5, 6}));
    cases.push_back(binary_case(op, {3}, {1, 1, 3}, {1, 1, 3}));
    cases.push_back(binary_case(op, {4, 0}, {4, 1}, {4, 0}));
  }
  cases.push_back(large(binary_case(multiply_op, {300, 1000}, {300, 1}, {300, 1000}), 2));
  return cases;
}

std::vector<double> sum_of_all(const Values& in) {
  std::vector<double> y(in[0].size(), 0);
  for (const auto& part : in)
    for (std::size_t i = 0; i < part.size(); ++i) y[i] += part[i];
  return y;
}

OpCase add_n_case(std::size_t count) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(random_tensor({3, 5}, static_cast<unsigned>(i + 1)));
  return {.name = fmt::format("add_n of {}", count),
          .inputs = parts,
          .run = [](In in) { return add_n(in); },
          .reference = sum_of_all,
          .check = {.length = 4},
          .data = count,
          .takes_any_dtype = true};
}

/// Ops that read several parts of one tensor.
std::vector<OpCase> parts_cases() {
  const Tensor x = random_tensor({4, 6}, 1, 0.2, 0.8);
  const auto product = [](std::size_t first, std::size_t second, std::size_t columns) {
    return [=](const Values& in) {
      std::vector<double> y;
      for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t i = 0; i < columns; ++i) y.push_back(in[0][row * 6 + first + i] * in[0][row * 6 + second + i]);
      return y;
    };
  };
  return {{.name = "multiply both sides of a split",
           .inputs = {x},
           .run =
               [](In in) {
                 const std::vector<Tensor> sides = split(in[0], 2, 1);
                 return sides[0] * sides[1];
               },
           .reference = product(0, 3, 3),
           .calls_first = "split",
           .takes_any_dtype = true},
          {.name = "multiply overlapping slices",
           .inputs = {x},
           .run = [](In in) { return slice(in[0], 1, 0, 4) * slice(in[0], 1, 2, 6); },
           .reference = product(0, 2, 4),
           .calls_first = "slice",
           .takes_any_dtype = true},
          {.name = "multiply a tensor and its slice",
           .inputs = {x},
           .run = [](In in) { return in[0] * slice(in[0], 1, 2, 3); },
           .reference =
               [](const Values& in) {
                 std::vector<double> y;
                 for (std::size_t i = 0; i < 24; ++i) y.push_back(in[0][i] * in[0][i / 6 * 6 + 2]);
                 return y;
               },
           .check = {.length = 6},
           .calls_first = "slice",
           .takes_any_dtype = true}};
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases = unary_cases();
  for (const auto part : {binary_cases, parts_cases})
    for (OpCase& c : part()) cases.push_back(std::move(c));
  for (const std::size_t count : {2U, 4U}) cases.push_back(add_n_case(count));
  cases.push_back({.name = "cast to bf16 and back",
                   .inputs = {cast(cast(random_tensor({5, 7}, 1), DType::bf16), DType::f32)},
                   .run = [](In in) { return cast(cast(in[0], DType::bf16), in[0].dtype()); },
                   .reference = each([](double x) { return x; }),
                   .check = {.magnitude = epsilon_of(DType::bf16) / epsilon_of(DType::f32)},
                   .takes_any_dtype = true});
  return cases;
}

}  // namespace lockstep::test
