#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include <kernels/cases/groups.h>
#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/linear_algebra/svd.h>
#include <lockstep/kernels/matmul/matmul.h>

namespace lockstep::test {
namespace {

/// Of order `ord` along axis 1 of (2, 3, 4).
OpCase norm_case(double ord, std::function<double(Elements)> reference) {
  const Shape shape{2, 3, 4};
  return {.name = fmt::format("norm of order {}", ord),
          .inputs = {random_tensor(shape, 5)},
          .run = [=](In in) { return norm(in[0], {1}, false, ord); },
          .reference = of_groups(shape, {1}, std::move(reference)),
          .check = {.length = 3},
          .integers_give_f32 = true};
}

/// Of matrices with three rows along axis 1 and five columns along axis 3, each kind of sum by itself.
OpCase matrix_norm_case(double ord, bool of_columns, bool takes_largest) {
  const Shape shape{2, 3, 4, 5};
  const auto reference = [=](Elements x) {
    std::vector<double> sums(of_columns ? 5 : 3);
    for (std::size_t i = 0; i < x.size(); ++i) sums[of_columns ? i % 5 : i / 5] += std::abs(x[i]);
    return takes_largest ? largest_of(sums) : smallest_of(sums);
  };
  return {.name = fmt::format("norm of matrices of order {}", ord),
          .inputs = {random_tensor(shape, 5)},
          .run =
              [=](In in) {
                return norm(in[0], {1, -1}, false, ord);
              },
          .reference = of_groups(shape, {1, 3}, reference),
          .check = {.length = 15},
          .integers_give_f32 = true};
}

/// Singular values of a matrix with two columns, and the projection (2, 2) to the right singular vector of the larger.
struct Pair {
  explicit Pair(Elements x) {
    double a = 0, b = 0, d = 0;  // x^T x = ((a, b), (b, d))
    for (std::size_t row = 0; row < x.size(); row += 2) {
      a += x[row] * x[row];
      b += x[row] * x[row + 1];
      d += x[row + 1] * x[row + 1];
    }
    const double middle = (a + d) / 2;
    const double radius = std::hypot((a - d) / 2, b);
    larger = std::sqrt(middle + radius);
    smaller = std::sqrt(std::max(0.0, middle - radius));
    projection = {(1 + (a - middle) / radius) / 2, b / radius / 2, b / radius / 2, (1 + (d - middle) / radius) / 2};
  }

  double larger, smaller;
  std::vector<double> projection;
};

/// x (m, 2) times a matrix (2, 2).
std::vector<double> times(Elements x, Elements matrix) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += 2)
    for (const std::size_t column : {0U, 1U}) y.push_back(x[row] * matrix[column] + x[row + 1] * matrix[2 + column]);
  return y;
}

/// Of matrices with columns along axis 1 of (2, 2, 3, 4) and rows along axis 3.
template <class Order>
Tensor of_order(In in, const Order& order) {
  return norm(in[0], {3, 1}, false, order);
}

OpCase singular_norm_case(const std::string& order, Op run, std::function<double(const Pair&)> reference) {
  const Shape shape{2, 2, 3, 4};
  const auto of_rows = [=](Elements x) {  // (columns, rows)
    std::vector<double> matrix;
    for (std::size_t row = 0; row < 4; ++row) matrix.insert(matrix.end(), {x[row], x[4 + row]});
    return reference(Pair(matrix));
  };
  return {.name = fmt::format("norm of matrices of order {}", order),
          .inputs = {random_tensor(shape, 5)},
          .run = std::move(run),
          .reference = of_groups(shape, {1, 3}, of_rows),
          .check = {.length = 8},
          .integers_give_f32 = true};
}

std::vector<OpCase> norm_cases() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto of_sizes = [](auto of) {
    return [=](Elements x) {
      std::vector<double> sizes;
      for (const double value : x) sizes.push_back(std::abs(value));
      return of(sizes);
    };
  };
  const auto of_order_3 = [](Elements x) {
    double sum = 0;
    for (const double value : x) sum += value * value * value;
    return std::cbrt(sum);
  };
  return {norm_case(1, of_sizes(sum_of)),
          norm_case(2, [](Elements x) { return std::sqrt(squares_of(x)); }),
          norm_case(3, of_sizes(of_order_3)),
          norm_case(infinity, of_sizes(largest_of)),
          norm_case(-infinity, of_sizes(smallest_of)),
          matrix_norm_case(1, true, true),
          matrix_norm_case(-1, true, false),
          matrix_norm_case(infinity, false, true),
          matrix_norm_case(-infinity, false, false),
          singular_norm_case(
              "2", [](In in) { return of_order(in, 2.0); }, [](const Pair& pair) { return pair.larger; }),
          singular_norm_case(
              "-2", [](In in) { return of_order(in, -2.0); }, [](const Pair& pair) { return pair.smaller; }),
          singular_norm_case(
              "nuc", [](In in) { return of_order(in, "nuc"); },
              [](const Pair& pair) { return pair.larger + pair.smaller; }),
          singular_norm_case(
              "fro", [](In in) { return of_order(in, "fro"); },
              [](const Pair& pair) { return std::hypot(pair.larger, pair.smaller); })};
}

/// function(factors of x), whose errors name svd.
Tensor of_factors(const Tensor& x, const std::function<Tensor(const Svd&)>& function) try {
  return function(svd(x));
} catch (Error& error) {
  rethrow_from("svd", error);
}

/// A function of the factors of matrices (2, m, 2), with a reference for one of them, or of their transposes.
OpCase svd_case(const std::string& name, std::int64_t m, bool wide, std::function<Tensor(const Svd&)> function,
                std::function<std::vector<double>(Elements)> reference) {
  return {.name = fmt::format("svd of (2, {}, {}), {}", wide ? 2 : m, wide ? m : 2, name),
          .inputs = {random_tensor({2, m, 2}, 3)},
          .run =
              [=](In in) {
                return of_factors(wide && in[0].defined() ? swapaxes(in[0], 1, 2) : in[0], [&](const Svd& f) {
                  return function(wide ? Svd{swapaxes(f.vh, 1, 2), f.s, swapaxes(f.u, 1, 2)} : f);
                });
              },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                const auto size = static_cast<std::ptrdiff_t>(2 * m);
                for (auto at = in[0].begin(); at != in[0].end(); at += size) {
                  const std::vector<double> part = reference(std::vector(at, at + size));
                  y.insert(y.end(), part.begin(), part.end());
                }
                return y;
              },
          .check = {.length = 24},
          .integers_give_f32 = true,
          .same_bits_on_any_threads = false};  // of the products of the factors
}

/// The nearest matrix with orthonormal columns: x (x^T x)^(-1/2).
std::vector<double> nearest_rotation(Elements x) {
  const Pair pair(x);
  const std::vector<double>& p = pair.projection;
  const double a = 1 / pair.larger, b = 1 / pair.smaller;
  return times(x, {a * p[0] + b * (1 - p[0]), (a - b) * p[1], (a - b) * p[2], a * p[3] + b * (1 - p[3])});
}

/// The projection (m, m) to the left singular vector of the larger singular value.
std::vector<double> left_projection(Elements x) {
  const Pair pair(x);
  const std::vector<double> projected = times(x, pair.projection);
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += 2)
    for (std::size_t column = 0; column < x.size(); column += 2)
      y.push_back((projected[row] * x[column] + projected[row + 1] * x[column + 1]) / (pair.larger * pair.larger));
  return y;
}

std::vector<OpCase> svd_cases() {
  const auto product = [](const Svd& f) { return matmul(f.u * expand_dims(f.s, -2), f.vh); };
  const auto rotation = [](const Svd& f) { return matmul(f.u, f.vh); };
  const auto left = [](const Svd& f) {
    const Tensor first = slice(f.u, -1, 0, 1);
    return matmul(first, swapaxes(first, -2, -1));
  };
  const auto right = [](const Svd& f) {
    const Tensor first = slice(f.vh, -2, 0, 1);
    return matmul(swapaxes(first, -2, -1), first);
  };
  std::vector<OpCase> cases;
  for (const bool wide : {false, true}) {
    cases.push_back(svd_case("product of the factors", 5, wide, product, [](Elements x) { return x; }));
    cases.push_back(svd_case(
        "values", 4, wide, [](const Svd& f) { return f.s; },
        [](Elements x) {
          return std::vector{Pair(x).larger, Pair(x).smaller};
        }));
    cases.push_back(svd_case("nearest rotation", 3, wide, rotation, nearest_rotation));
    cases.push_back(svd_case("left projection", 3, wide, left, left_projection));
    cases.push_back(svd_case("right projection", 3, wide, right, [](Elements x) { return Pair(x).projection; }));
  }
  cases.push_back({.name = "svd of (6, 4), product of the factors",
                   .inputs = {random_tensor({6, 4}, 7)},
                   .run = [=](In in) { return of_factors(in[0], product); },
                   .reference = each([](double x) { return x; }),
                   .check = {.length = 24},
                   .takes_no_rows = false,
                   .integers_give_f32 = true});
  return cases;
}

}  // namespace

std::vector<OpCase> linear_algebra_cases() {
  std::vector<OpCase> cases = norm_cases();
  for (OpCase& c : svd_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace lockstep::test
