#include <algorithm>
#include <cmath>

#include <kernels/cases/activations.h>
#include <kernels/cases/op_case.h>

#include <lockstep/kernels/matmul/dense.h>

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

OpCase dense_case(std::int64_t rows, std::int64_t inputs, std::int64_t units, bool bias = true) {
  OpCase result{
      .name = fmt::format("dense of ({}, {}) to {}{}", rows, inputs, units, bias ? "" : ", no bias"),
      .inputs = {random_tensor({rows, inputs}, 1), random_tensor({inputs, units}, 2)},
      .run = [](In in) { return dense(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); },
      .reference = [=](const Values& in) { return products(inputs, units, in); },
      .check = {.length = std::max({rows, inputs, units})},
      .bf16 = Bf16::data,
      .optional = bias ? 1U : 0U,
      .same_bits_on_any_threads = false,
  };
  if (bias) result.inputs.push_back(random_tensor({units}, 3));
  return result;
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
  std::vector<OpCase> cases{dense_case(4, 3, 5),
                            dense_case(1, 1, 1),
                            dense_case(7, 17, 3),
                            dense_case(16, 32, 8),
                            dense_case(5, 8, 1),
                            dense_case(3, 300, 2, false),
                            dense_case(33, 5, 16, false),
                            large(dense_case(3, 70, 90), 6),
                            large(dense_case(130, 70, 90), 6)};
  for (const ActivationCase& activation : activations_of_elements()) {
    cases.push_back(activated(dense_case(5, 7, 3), activation));
    if (activation.activation == Activation::tanh)
      cases.push_back(large(activated(dense_case(33, 70, 90), activation), 6));
    if (activation.activation != Activation::relu) continue;
    cases.push_back(large(activated(dense_case(130, 70, 90), activation), 6));
    cases.back().inputs[2] = bias_far_from_0(90, 70);
  }
  return cases;
}

}  // namespace lockstep::test
