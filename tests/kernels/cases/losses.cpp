#include <cmath>

#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>

namespace lockstep::test {
namespace {

/// The first rows of `all`, as many as `data` has, for an op to compare with `data`.
Tensor first_rows(const Tensor& all, const Tensor& data) {
  return data.defined() ? all.slice_view(0, 0, data.dim(0)) : all;
}

OpCase sparse_case(std::int64_t rows, std::int64_t classes, DType dtype, bool column) {
  std::vector<std::int64_t> label;
  for (std::int64_t row = 0; row < rows; ++row) label.push_back(row * row * 7 % classes);
  const Tensor labels = cast(Tensor::from(label, column ? Shape{rows, 1} : Shape{rows}), dtype);
  return {.name = fmt::format("sparse_softmax_cross_entropy of ({}, {}), labels {} {}", rows, classes, name(dtype),
                              labels.shape()),
          .inputs = {random_tensor({rows, classes}, 1, -4, 4)},
          .run = [=](In in) { return sparse_softmax_cross_entropy(in[0], first_rows(labels, in[0])); },
          .reference =
              [=, n = static_cast<std::size_t>(classes)](const Values& in) {
                std::vector<double> loss;
                for (std::size_t row = 0; row < label.size(); ++row) {
                  double sum = 0;
                  for (std::size_t i = 0; i < n; ++i) sum += std::exp(in[0][row * n + i]);
                  loss.push_back(std::log(sum) - in[0][row * n + static_cast<std::size_t>(label[row])]);
                }
                return loss;
              },
          .check = {.length = classes, .magnitude = 4}};
}

OpCase sigmoid_case(const Shape& shape) {
  const Tensor targets = random_tensor(shape, 2, 0, 1);
  return {.name = fmt::format("sigmoid_cross_entropy of {}", shape),
          .inputs = {random_tensor(shape, 1, -5, 5)},
          .run = [=](In in) { return sigmoid_cross_entropy(in[0], first_rows(targets, in[0])); },
          .reference =
              [t = targets.to_vector<double>()](const Values& in) {
                std::vector<double> loss;
                for (std::size_t i = 0; i < t.size(); ++i) {
                  const double p = 1 / (1 + std::exp(-in[0][i]));
                  loss.push_back(-(t[i] * std::log(p) + (1 - t[i]) * std::log(1 - p)));
                }
                return loss;
              },
          .check = {.magnitude = 5}};
}

OpCase binary_case() {
  const Tensor targets = cast(random_tensor({40, 1}, 2, 0, 1.999), DType::i32);
  return {.name = "binary_cross_entropy",
          .inputs = {random_tensor({40, 1}, 1, 0.05, 0.95)},
          .run = [=](In in) { return binary_cross_entropy(in[0], first_rows(targets, in[0])); },
          .reference =
              [t = targets.to_vector<double>()](const Values& in) {
                std::vector<double> loss;
                for (std::size_t i = 0; i < t.size(); ++i)
                  loss.push_back(-(t[i] * std::log(in[0][i]) + (1 - t[i]) * std::log(1 - in[0][i])));
                return loss;
              },
          .check = {.magnitude = 20}};
}

}  // namespace

std::vector<OpCase> loss_cases() {
  std::vector<OpCase> cases{binary_case()};
  for (const auto& [rows, classes] : {std::pair{1, 1}, std::pair{1, 2}, std::pair{9, 10}, std::pair{33, 101}})
    for (const DType dtype : {DType::i32, DType::i64, DType::u8, DType::f32})
      cases.push_back(sparse_case(rows, classes, dtype, dtype == DType::i32));
  cases.push_back(large(sparse_case(5000, 10, DType::i64, false), 2));
  for (const Shape& shape : {Shape{1}, Shape{50}, Shape{9, 3}}) cases.push_back(sigmoid_case(shape));
  return cases;
}

}  // namespace lockstep::test
