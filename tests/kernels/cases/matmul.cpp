#include <algorithm>
#include <cmath>
#include <utility>

#include <kernels/cases/activations.h>
#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/matmul/matmul.h>

namespace lockstep::test {
namespace {

std::vector<double> products(std::int64_t inputs, std::int64_t units, const Values& in) {
  const auto k_count = static_cast<std::size_t>(inputs);
  const auto n = static_cast<std::size_t>(units);
  const std::size_t rows = k_count == 0 ? 0 : in[0].size() / k_count;
  std::vector<double> y;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t unit = 0; unit < n; ++unit) {
      double sum = in.size() > 2 ? in[2][unit] : 0;
      for (std::size_t k = 0; k < k_count; ++k) sum += in[0][row * k_count + k] * in[1][k * n + unit];
      y.push_back(sum);
    }
  return y;
}

/// `rows`: the axes before the last one.
OpCase dense_case(const Shape& rows, std::int64_t inputs, std::int64_t units, bool bias = true) {
  Shape x = rows;
  x.push_back(inputs);
  OpCase result{
      .name = fmt::format("dense of {} to {}{}", x, units, bias ? "" : ", no bias"),
      .inputs = {random_tensor(x, 1), random_tensor({inputs, units}, 2)},
      .run = [](In in) { return dense(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); },
      .reference = [=](const Values& in) { return products(inputs, units, in); },
      .check = {.length = std::max({rows.elements(), inputs, units})},
      .bf16 = Bf16::data,
      .optional = bias ? 1U : 0U,
      .same_bits_on_any_threads = false,
  };
  if (bias) result.inputs.push_back(random_tensor({units}, 3));
  return result;
}

/// Strides along the axes of `batch` of a tensor whose axes before the last two are `own`: 0 where it is broadcast.
Shape broadcast_strides(const Shape& own, const Shape& batch, std::int64_t matrix) {
  Shape strides = batch;
  std::int64_t stride = matrix;
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    const int at = axis - (batch.rank() - own.rank());
    const std::int64_t size = at < 0 ? 1 : own[at];
    strides[axis] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

/// a (batch_a, m, k) b (batch_b, k, n), where both batches broadcast to `batch`.
struct MatmulSizes {
  Shape batch_a, batch_b, batch;
  std::int64_t m, n, k;

  std::vector<double> products(const Values& in) const {
    const Shape a_strides = broadcast_strides(batch_a, batch, m * k);
    const Shape b_strides = broadcast_strides(batch_b, batch, k * n);
    std::vector<double> y;
    for (std::int64_t number = 0; number < batch.elements(); ++number) {
      std::int64_t rest = number, a = 0, b = 0;
      for (int axis = batch.rank() - 1; axis >= 0; --axis) {
        a += rest % batch[axis] * a_strides[axis];
        b += rest % batch[axis] * b_strides[axis];
        rest /= batch[axis];
      }
      for (std::int64_t row = 0; row < m; ++row)
        for (std::int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (std::int64_t i = 0; i < k; ++i)
            sum +=
                in[0][static_cast<std::size_t>(a + row * k + i)] * in[1][static_cast<std::size_t>(b + i * n + column)];
          y.push_back(sum);
        }
    }
    return y;
  }
};

/// matmul of tensors of these shapes, which may be vectors.
OpCase matmul_case(const Shape& a, const Shape& b, const MatmulSizes& sizes) {
  const std::int64_t rows_and_columns = std::max(sizes.m, sizes.n);
  return {.name = fmt::format("matmul of {} and {}", a, b),
          .inputs = {random_tensor(a, 1), random_tensor(b, 2)},
          .run = [](In in) { return matmul(in[0], in[1]); },
          .reference = [=](const Values& in) { return sizes.products(in); },
          .check = {.length = std::max(sizes.k, rows_and_columns * sizes.batch.elements())},
          .data = 2,
          .takes_no_rows = sizes.batch_a.rank() > 0 && sizes.batch_a == sizes.batch_b,
          .takes_any_dtype = true,
          .same_bits_on_any_threads = false};
}

std::vector<double> transposed(std::int64_t rows, std::int64_t columns, const std::vector<double>& x) {
  std::vector<double> y;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); i += rows * columns)
    for (std::int64_t column = 0; column < columns; ++column)
      for (std::int64_t row = 0; row < rows; ++row)
        y.push_back(x[static_cast<std::size_t>(i + row * columns + column)]);
  return y;
}

/// matmul of a batch of matrices of which the first or the second, or both, are transposed.
OpCase transposed_matmul_case(bool first, bool second, const Shape& batch, std::int64_t m, std::int64_t n,
                              std::int64_t k) {
  const auto shape = [&](std::int64_t rows, std::int64_t columns) {
    Shape result = batch;
    result.push_back(rows);
    result.push_back(columns);
    return result;
  };
  const Shape a = first ? shape(k, m) : shape(m, k);
  const Shape b = second ? shape(n, k) : shape(k, n);
  const MatmulSizes sizes{batch, batch, batch, m, n, k};
  OpCase result = matmul_case(a, b, sizes);
  result.name = fmt::format("matmul of {}{} and {}{}", a, first ? " transposed" : "", b, second ? " transposed" : "");
  const auto flip = [last = batch.rank() + 1](bool wanted, const Tensor& x) {
    std::vector<int> axes;
    for (int axis = 0; axis < last - 1; ++axis) axes.push_back(axis);
    axes.insert(axes.end(), {wanted ? last : last - 1, wanted ? last - 1 : last});
    return transpose(x, axes);
  };
  result.run = [=](In in) { return matmul(flip(first, in[0]), flip(second, in[1])); };
  result.reference = [=](const Values& in) {
    return sizes.products({first ? transposed(k, m, in[0]) : in[0], second ? transposed(n, k, in[1]) : in[1]});
  };
  result.calls_first = "transpose";
  return result;
}

/// The products of queries and keys (n, time, heads, size) of attention: (n, heads, time, time).
OpCase attention_case() {
  constexpr std::int64_t n = 2, time = 3, heads = 4, size = 5;
  const auto at = [](std::int64_t i, std::int64_t t, std::int64_t head, std::int64_t k) {
    return static_cast<std::size_t>(((i * time + t) * heads + head) * size + k);
  };
  return {.name = "matmul of queries and keys",
          .inputs = {random_tensor({n, time, heads, size}, 1), random_tensor({n, time, heads, size}, 2)},
          .run =
              [](In in) {
                return matmul(transpose(in[0], {0, 2, 1, 3}), transpose(in[1], {0, 2, 3, 1}));
              },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (std::int64_t i = 0; i < n; ++i)
                  for (std::int64_t head = 0; head < heads; ++head)
                    for (std::int64_t query = 0; query < time; ++query)
                      for (std::int64_t key = 0; key < time; ++key) {
                        double sum = 0;
                        for (std::int64_t k = 0; k < size; ++k)
                          sum += in[0][at(i, query, head, k)] * in[1][at(i, key, head, k)];
                        y.push_back(sum);
                      }
                return y;
              },
          .check = {.length = size},
          .data = 2,
          .calls_first = "transpose",
          .takes_any_dtype = true,
          .same_bits_on_any_threads = false};
}

std::vector<OpCase> products_of_tensors() {
  const MatmulSizes one{{}, {}, {}, 3, 5, 4};
  std::vector<OpCase> cases{
      matmul_case({3, 4}, {4, 5}, one),
      matmul_case({4}, {4}, {{}, {}, {}, 1, 1, 4}),
      matmul_case({4}, {4, 5}, {{}, {}, {}, 1, 5, 4}),
      matmul_case({3, 4}, {4}, {{}, {}, {}, 3, 1, 4}),
      matmul_case({2, 3, 4}, {4}, {{2}, {}, {2}, 3, 1, 4}),
      matmul_case({4}, {2, 4, 5}, {{}, {2}, {2}, 1, 5, 4}),
      matmul_case({2, 3, 4}, {2, 4, 5}, {{2}, {2}, {2}, 3, 5, 4}),
      matmul_case({2, 3, 4}, {4, 5}, {{2}, {}, {2}, 3, 5, 4}),
      matmul_case({3, 4}, {2, 4, 5}, {{}, {2}, {2}, 3, 5, 4}),
      matmul_case({2, 1, 3, 4}, {6, 4, 5}, {{2, 1}, {6}, {2, 6}, 3, 5, 4}),
      matmul_case({3, 2, 1, 1, 4}, {3, 1, 2, 4, 1}, {{3, 2, 1}, {3, 1, 2}, {3, 2, 2}, 1, 1, 4}),
      matmul_case({2, 1, 3, 1, 2, 4}, {1, 2, 1, 3, 4, 2}, {{2, 1, 3, 1}, {1, 2, 1, 3}, {2, 2, 3, 3}, 2, 2, 4}),
      matmul_case({2, 3, 1}, {2, 1, 5}, {{2}, {2}, {2}, 3, 5, 1}),
      matmul_case({2, 3, 0}, {0, 5}, {{2}, {}, {2}, 3, 5, 0}),
      attention_case(),
      large(matmul_case({7, 130, 70}, {7, 70, 90}, {{7}, {7}, {7}, 130, 90, 70}), 6),
      large(matmul_case({2, 1, 65, 300}, {3, 300, 40}, {{2, 1}, {3}, {2, 3}, 65, 40, 300}), 6)};
  for (const bool first : {false, true})
    for (const bool second : {false, true}) {
      if (!first && !second) continue;
      cases.push_back(transposed_matmul_case(first, second, {}, 3, 5, 4));
      cases.push_back(transposed_matmul_case(first, second, {2, 3}, 1, 5, 4));
      cases.push_back(large(transposed_matmul_case(first, second, {5}, 65, 40, 300), 6));
    }
  return cases;
}

OpCase activated(OpCase plain, const ActivationCase& activation) {
  plain.name += fmt::format(" with {}", activation.name);
  plain.run = [of = activation.activation](In in) { return dense(in[0], in[1], in[2], of); };
  plain.reference = [plain = plain.reference, of = activation.reference](const Values& in) {
    std::vector<double> y = plain(in);
    std::ranges::transform(y, y.begin(), of);
    return y;
  };
  return plain;
}

}  // namespace

std::vector<OpCase> matmul_cases() {
  std::vector<OpCase> cases{dense_case({4}, 3, 5),
                            dense_case({1}, 1, 1),
                            dense_case({7}, 17, 3),
                            dense_case({16}, 32, 8),
                            dense_case({5}, 8, 1),
                            dense_case({3}, 300, 2, false),
                            dense_case({33}, 5, 16, false),
                            dense_case({2, 3}, 4, 5),
                            dense_case({2, 3, 2}, 4, 1, false),
                            large(dense_case({3}, 70, 90), 6),
                            large(dense_case({130}, 70, 90), 6)};
  for (const ActivationCase& activation : activations_of_elements()) {
    cases.push_back(activated(dense_case({5}, 7, 3), activation));
    if (activation.activation == Activation::sigmoid) cases.push_back(activated(dense_case({2, 3}, 4, 3), activation));
    if (activation.activation == Activation::tanh)
      cases.push_back(large(activated(dense_case({33}, 70, 90), activation), 6));
    if (activation.activation != Activation::relu) continue;
    cases.push_back(large(activated(dense_case({130}, 70, 90), activation), 6));
    cases.back().inputs[2] = bias_far_from_0(90, 70);
  }
  for (OpCase& c : products_of_tensors()) {
    cases.push_back(of_dtype(c, DType::i32));
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace lockstep::test
