#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/comparison.h>

namespace lockstep::test {
namespace {

/// -1, 0 and 1: many of them equal.
Tensor few_numbers(const Shape& shape, unsigned seed) {
  return cast(cast(random_tensor(shape, seed, -1.9, 1.9), DType::i32), DType::f32);
}

/// The shapes of the operands of where, which broadcast to (3, 7).
struct WhereShapes {
  Shape condition, a, b;
};

OpCase where_case(const WhereShapes& shapes) {
  const Shape full{3, 7};
  const Tensor condition = less(few_numbers(shapes.condition, 3), 0.5);
  return {.name = fmt::format("where {}, {}, {}", shapes.condition, shapes.a, shapes.b),
          .inputs = {random_tensor(shapes.a, 1), random_tensor(shapes.b, 2)},
          .run = [=](In in) { return where(condition, in[0], in[1]); },
          .reference =
              [=, chosen = condition.to_vector<bool>()](const Values& in) {
                std::vector<double> y(static_cast<std::size_t>(full.elements()));
                for (std::size_t i = 0; i < y.size(); ++i)
                  y[i] = chosen[source_index(shapes.condition, full, i)] ? in[0][source_index(shapes.a, full, i)]
                                                                         : in[1][source_index(shapes.b, full, i)];
                return y;
              },
          .check = {.length = full.elements()},
          .data = 2,
          .takes_no_rows = false,
          .takes_integers = true,
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

}  // namespace

std::vector<OpCase> comparison_cases() {
  std::vector<OpCase> cases{where_case({{3, 7}, {3, 7}, {3, 7}}), where_case({{3, 1}, {1, 7}, {}}),
                            where_case({{7}, {3, 1}, {3, 7}}), where_case({{3, 7}, {7}, {1}})};
  for (const bool number_first : {false, true}) cases.push_back(number_case(number_first));
  return cases;
}

}  // namespace lockstep::test
